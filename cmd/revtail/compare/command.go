package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/history/historyapi"
	"revtail/cmd/revtail/source"
)

// Command compares two sources. Its exit codes are those of diff(1).
type Command struct {
	Sources           source.Set
	output            string
	labels            string
	showManagedFields bool
	from, to          historyapi.Moment

	a, b *source.Source
}

// Flags are the names of the flags that AddFlags defines, without those of files.
var Flags = []string{"output", "selector", "show-managed-fields", "from", "to"}

// AddFlags defines the flags.
func (c *Command) AddFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&c.output, "output", "o", "diff", "`format` of the differences of two sources: diff, name or json")
	set.StringVarP(&c.labels, "selector", "l", "", "`labels` of the objects of two sources, as app=web,tier!=back")
	set.BoolVar(&c.showManagedFields, "show-managed-fields", false, "compare managedFields, resourceVersion and generation of two sources too")
	set.Var(&c.from, "from", "compare the server with itself as it was at this `moment`, in place of two sources: "+historyapi.MomentUsage)
	set.Var(&c.to, "to", "with --from: compare it as it was at this `moment`, and not as it is now")
	completion.Values(cmd, "output", "diff", "name", "json")
	c.Sources.AddFlags(cmd)
}

// OfOneServer reports whether moments of one server are compared, which no arguments name.
func (c *Command) OfOneServer() bool { return !c.from.IsZero() || !c.to.IsZero() }

// Run compares the sources that the first two arguments name, or those of --from; the others choose kinds.
func (c *Command) Run(cmd *cobra.Command, args []string, namespace string, colored bool) error {
	names, kinds, err := c.check(args)
	if err != nil {
		return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
	}
	c.Sources.Stderr = cmd.ErrOrStderr()
	defer c.Sources.Close()
	ctx := cmd.Context()
	if c.a, err = c.Sources.Open(ctx, names[0]); err != nil {
		return failed(err)
	}
	if c.b, err = c.Sources.Open(ctx, names[1]); err != nil {
		return failed(err)
	}
	queries, err := c.queries(kinds, namespace)
	if err != nil {
		return failed(err)
	}
	if len(kinds) == 0 && namespace == "" {
		if err := errors.Join(c.warnOfUndefined(ctx, c.a), c.warnOfUndefined(ctx, c.b)); err != nil {
			return failed(err)
		}
	}
	out := c.newPrinter(cmd.OutOrStdout(), colored)
	if err := c.compare(ctx, queries, out); err != nil {
		return failed(err)
	}
	if out.counts.different() == 0 {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No differences: %d objects of %d resources are equal.\n", out.counts.equal, len(queries))
		return err
	}
	return &command.ExitError{Code: command.ExitFailure, Err: errors.New(out.counts.String())}
}

// warnOfUndefined tells which objects of a file are not compared.
func (c *Command) warnOfUndefined(ctx context.Context, of *source.Source) error {
	undefined, err := of.Undefined(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", of.Text, err)
	}
	var lines []string
	for name, keys := range undefined {
		lines = append(lines, fmt.Sprintf("Warning: %s: %d keys of %s are not compared, because their CustomResourceDefinition is not there\n", of.Text, keys, name))
	}
	slices.Sort(lines)
	_, err = io.WriteString(c.Sources.Stderr, strings.Join(lines, ""))
	return err
}

// failed is an error with the exit code of trouble, because 1 means that there are differences.
func failed(err error) error { return &command.ExitError{Code: command.ExitUsage, Err: err} }

// check reads the arguments and flags as far as that is possible without the sources.
func (c *Command) check(args []string) (names [2]source.Name, kinds []string, err error) {
	if names, kinds, err = c.names(args); err != nil {
		return names, nil, err
	}
	for _, kind := range kinds {
		if err := client.CheckArgs([]string{kind}); err != nil {
			return names, nil, err
		}
	}
	if !slices.Contains([]string{"diff", "name", "json"}, c.output) {
		return names, nil, fmt.Errorf("--output %q: want diff, name or json", c.output)
	}
	return names, kinds, errors.Join(c.Sources.Options.Check(), client.CheckSelectors(c.labels, ""))
}

// names returns the names of the sources, and the arguments that choose kinds.
func (c *Command) names(args []string) (names [2]source.Name, kinds []string, err error) {
	if c.OfOneServer() {
		if c.from.IsZero() {
			return names, nil, errors.New("--to is given without --from: want both, or --from alone")
		}
		return [2]source.Name{source.Live(c.from.Revision, c.from.Query()), source.Live(c.to.Revision, c.to.Query())}, args, nil
	}
	if len(args) < 2 {
		return names, nil, fmt.Errorf("one source is given, %s: want two, as revtail diff %s live, or --from", args[0], args[0])
	}
	for i, text := range args[:2] {
		if names[i], err = source.ParseName(text); err != nil {
			return names, nil, err
		}
	}
	return names, args[2:], nil
}

// query is what is compared: objects of a resource that at least one source has.
type query struct{ a, b *client.Query } // nil: this source does not serve the resource

// resource returns the resource, in the version of one of the sources.
func (q query) resource() client.Resource {
	if q.a != nil {
		return q.a.Resource
	}
	return q.b.Resource
}

// queries returns the queries of kinds, or of all resources that are compared unless others are asked for.
func (c *Command) queries(kinds []string, namespace string) ([]query, error) {
	all := slices.Concat(c.a.Resources, c.b.Resources)
	var targets []client.Target
	for _, kind := range kinds {
		found, err := client.Targets(all, []string{kind})
		if err != nil {
			return nil, err
		}
		targets = append(targets, found...)
	}
	if len(kinds) == 0 {
		targets = defaults(all, namespace)
	}
	var out []query
	seen := make(map[string]bool)
	for _, target := range targets {
		names := target.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			id := target.Resource.ObjectName(name)
			if seen[id] {
				continue
			}
			seen[id] = true
			q := client.Query{Namespace: namespace, Name: name, Labels: c.labels}
			if !target.Resource.Namespaced {
				q.Namespace = ""
			}
			out = append(out, c.pair(target.Resource, q))
		}
	}
	return out, nil
}

// defaults returns a target for each resource that has objects of its own.
func defaults(resources []client.Resource, namespace string) (out []client.Target) {
	seen := make(map[string]bool)
	for _, r := range resources {
		name := r.QualifiedName()
		if seen[name] || isView(r) || namespace != "" && !r.Namespaced {
			continue
		}
		seen[name] = true
		out = append(out, client.Target{Resource: r})
	}
	slices.SortFunc(out, func(x, y client.Target) int {
		return strings.Compare(x.Resource.Group+"/"+x.Resource.Plural, y.Resource.Group+"/"+y.Resource.Plural)
	})
	return out
}

// isView reports whether the objects of a resource are those of another one, or are measured and stored nowhere.
func isView(r client.Resource) bool {
	return r.QualifiedName() == "events.events.k8s.io" || r.QualifiedName() == "componentstatuses" || strings.HasSuffix(r.Group, "metrics.k8s.io")
}

// pair returns the query for both sources, in a version that both serve if there is one.
func (c *Command) pair(r client.Resource, q client.Query) (out query) {
	a, b := versions(c.a.Resources, r), versions(c.b.Resources, r)
	add := func(of client.Resource) *client.Query {
		with := q
		with.Resource = of
		return &with
	}
	for _, version := range a {
		if slices.ContainsFunc(b, func(other client.Resource) bool { return other.Version == version.Version }) {
			return query{add(version), add(version)}
		}
	}
	if len(a) > 0 {
		out.a = add(a[0])
	}
	if len(b) > 0 {
		out.b = add(b[0])
	}
	return out
}

// versions returns a resource in all its versions, the preferred one first.
func versions(resources []client.Resource, r client.Resource) (out []client.Resource) {
	for _, other := range resources {
		if other.QualifiedName() == r.QualifiedName() {
			out = append(out, other)
		}
	}
	return out
}

// compare compares the objects of the queries, in the order of the queries.
func (c *Command) compare(ctx context.Context, queries []query, out *printer) error {
	for _, q := range queries {
		err := merge(objects(ctx, c.a, q.a), objects(ctx, c.b, q.b), func(before, after *client.Object) error {
			return out.add(q.resource(), before, after)
		})
		if err != nil {
			return err
		}
	}
	return out.end()
}
