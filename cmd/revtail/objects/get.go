package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/history/historyapi"
)

// NewGetCommand returns the command get.
func NewGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get " + client.ArgsUsage,
		GroupID: command.GroupRead,
		Short:   "List objects, or get some, as they are now or were at a past revision",
		Long: `List the objects of one or more resources, or get some of them by name, as they are now or were at a past revision of etcd.

RESOURCE is a plural, singular, short name, kind or category of the gateway. If two groups have the same name, add the group after
a dot. The output is that of 'kubectl get'. With --watch the command follows the objects and prints a row for each change; the watch
resumes after lost connections. With --snapshot the objects are those in a file, as with 'revtail open'.`,
		Example: `  # the ConfigMaps of all namespaces; two resources; everything in the category all
  revtail get configmaps -A
  revtail get cm,deploy -n shop
  revtail get all

  # some objects by name
  revtail get cm coredns kubeadm-config -n kube-system
  revtail get cm/coredns deploy/coredns -n kube-system -o yaml

  # as they were at revision 4711, and ten minutes ago
  revtail get deploy -l app=web --revision 4711
  revtail get deploy -A --at 10m
  revtail get deploy -A --snapshot backup.db

  # fields of the objects, in columns or in a text
  revtail get deploy -o custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[*].image
  revtail get cm coredns -n kube-system -o jsonpath='{.data.Corefile}'

  # rows that follow, newest last
  revtail get pods -w`,
	}
	g := &getter{}
	set := cmd.Flags()
	g.addSelectors(cmd)
	g.addRevision(cmd, "revision", "as of a past `revision` of etcd; 0: now")
	g.addMoment(cmd, "at", "as of a past `moment`: "+historyapi.MomentUsage+"; 0: now")
	g.addFlags(cmd, "table", "wide")
	set.StringVar(&g.sortBy, "sort-by", "", "sort by the field with this `path`, as .metadata.creationTimestamp")
	set.BoolVar(&g.ignoreNotFound, "ignore-not-found", false, "names without an object are no error")
	set.IntVar(&g.chunkSize, "chunk-size", client.DefaultPageSize, "`number` of objects per request; 0: all in one")
	set.BoolVarP(&g.watch, "watch", "w", false, "follow the objects after they are printed")
	set.BoolVar(&g.watchOnly, "watch-only", false, "follow the objects, and do not print them first")
	set.BoolVar(&g.outputWatchEvents, "output-watch-events", false, "with --watch or --watch-only: also print whether an object was ADDED, MODIFIED or DELETED")
	set.StringVar(&g.raw, "raw", "", "print what the gateway answers at this `path`, as /v1/keys/app/?watch, and nothing else")
	g.gateway.AddFlags(set)
	g.addSnapshot(cmd)
	g.completeArgs(cmd)
	cmd.RunE = command.AnyArgs(g.run)
	return cmd
}

// getter is one run of the command get.
type getter struct {
	flags
	printing
	sortBy            string
	ignoreNotFound    bool
	chunkSize         int
	watch, watchOnly  bool
	outputWatchEvents bool
	raw               string
}

func (g *getter) run(cmd *cobra.Command, args []string) error {
	if g.raw == "" {
		if err := errors.Join(client.CheckArgs(args), g.checkSelection(), g.check()); err != nil {
			return usageError(cmd, err)
		}
	}
	stop, err := g.openSnapshot(cmd)
	if err != nil {
		return err
	}
	defer stop()
	if g.raw != "" {
		return g.getRaw(cmd, args)
	}
	c, err := g.connect(cmd, args)
	if err != nil {
		return err
	}
	defer c.Close()
	if g.watch || g.watchOnly {
		err = g.follow(cmd, c)
	} else {
		err = g.get(cmd, c)
	}
	return g.explainMoment(err)
}

// check reads the flags.
func (g *getter) check() error {
	if err := g.parse(); err != nil {
		return err
	}
	if g.sortBy != "" {
		if _, err := parsePath(g.sortBy); err != nil {
			return fmt.Errorf("--sort-by: %w", err)
		}
	}
	if g.chunkSize < 0 {
		return fmt.Errorf("--chunk-size %d: want a number of objects, as 500, or 0 for all in one request", g.chunkSize)
	}
	if g.outputWatchEvents && !g.watch && !g.watchOnly {
		return errors.New("--output-watch-events has no effect without --watch or --watch-only")
	}
	if g.query.PageSize = g.chunkSize; g.chunkSize == 0 {
		g.query.PageSize = client.OnePage
	}
	g.query.Rows, g.query.Objects = g.isTable(), g.isTable() && g.sortBy != ""
	return nil
}

// getRaw prints the response of --raw.
func (g *getter) getRaw(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(cmd, fmt.Errorf("--raw and the argument %q: want one of them", args[0]))
	}
	u, err := url.ParseRequestURI(g.raw)
	if err != nil || u.Host != "" || !strings.HasPrefix(g.raw, "/") {
		return usageError(cmd, fmt.Errorf("--raw %q: want a path, as /api/v1/configmaps?limit=1", g.raw))
	}
	c, err := client.New(g.gateway)
	if err != nil {
		return command.UsageError(err)
	}
	defer c.Close()
	resp, err := c.Do(cmd.Context(), client.Request{Path: u.Path, Query: u.Query()})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(cmd.OutOrStdout(), resp.Body)
	if cmd.Context().Err() != nil {
		return nil
	}
	return err
}

// result has the objects of a target.
type result struct {
	resource client.Resource
	list     client.List
}

// get prints the objects of all targets. Its error has a line for each target and name that cannot be read.
func (g *getter) get(cmd *cobra.Command, c *client.Client) error {
	results, err := g.read(cmd.Context(), c)
	total := 0
	for _, r := range results {
		total += len(r.list.Objects)
		if g.sortBy != "" && err == nil {
			err = sortObjects(r.list.Objects, g.sortBy)
		}
	}
	if total == 0 && err == nil && !g.ignoreNotFound && (g.isTable() || g.format == "name") {
		return g.reportNone(cmd)
	}
	if g.isTable() {
		return errors.Join(g.printTables(cmd.OutOrStdout(), results), err)
	}
	return errors.Join(g.printDocuments(cmd.OutOrStdout(), results, err), err)
}

// read reads the targets. The error has those that cannot be read.
func (g *getter) read(ctx context.Context, c *client.Client) (results []result, err error) {
	for _, target := range g.targets {
		r := result{resource: target.Resource}
		for _, q := range g.queries(target) {
			list, failed := c.Read(ctx, q)
			if q.Name != "" && (client.HasCode(failed, http.StatusNotFound) || failed == nil && len(list.Objects) == 0) {
				if failed = errAbsent(q); g.ignoreNotFound {
					failed = nil
				}
			}
			err = errors.Join(err, failed)
			r.list.Objects = append(r.list.Objects, list.Objects...)
			r.list.Revision = list.Revision
			if len(list.Columns) > 0 {
				r.list.Columns = list.Columns
			}
		}
		results = append(results, r)
	}
	return results, err
}

// reportNone says on stderr that there are no objects.
func (g *getter) reportNone(cmd *cobra.Command) error {
	var names []string
	var q client.Query
	for _, target := range g.targets {
		names = append(names, target.Resource.QualifiedName())
		q = g.queries(target)[0]
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No %s%s.\n", strings.Join(names, ", "), inNamespace(q))
	return err
}

// printTables prints a table for each target that has objects.
func (g *getter) printTables(w io.Writer, results []result) error {
	several := slices.ContainsFunc(results, func(r result) bool { return r.resource.Kind != results[0].resource.Kind })
	printed := false
	for _, r := range results {
		if len(r.list.Objects) == 0 {
			continue
		}
		table, err := newTable(r.list.Columns, r.list.Objects)
		if err != nil {
			return err
		}
		if printed && !g.noHeaders {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		printed = true
		aligned := printers.GetNewTabWriter(w)
		if err := errors.Join(g.tablePrinter(r.resource, several, g.allNamespaces).PrintObj(table, aligned), aligned.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// printDocuments prints the object that the arguments name, or a List of all. It prints nothing if that object cannot be read.
func (g *getter) printDocuments(w io.Writer, results []result, failed error) error {
	var objects []client.Object
	for _, r := range results {
		objects = append(objects, r.list.Objects...)
	}
	single := len(g.targets) == 1 && len(g.targets[0].Names) == 1
	if (single || g.ignoreNotFound || failed != nil) && len(objects) == 0 {
		return nil
	}
	if single && len(objects) == 1 {
		document, err := g.newDocument(objects[0])
		if err != nil {
			return err
		}
		return g.printDocument(w, document)
	}
	if g.sortBy != "" && len(results) > 1 {
		if err := sortObjects(objects, g.sortBy); err != nil {
			return err
		}
	}
	revision := ""
	if len(g.targets) == 1 && len(g.targets[0].Names) == 0 {
		revision = strconv.FormatInt(results[0].list.Revision, 10)
	}
	list, err := g.newList(objects, revision)
	if err != nil {
		return err
	}
	return g.printDocument(w, list)
}

// explainRevision adds the flag of the revision to the errors that say that etcd does not have it.
func (f *flags) explainRevision(err error) error {
	switch revision := f.query.Revision; {
	case revision == 0:
	case client.HasCode(err, http.StatusGone):
		return fmt.Errorf("--%s %d: etcd has compacted this revision: %w", f.revisionFlag, revision, err)
	case client.HasCode(err, http.StatusGatewayTimeout):
		return fmt.Errorf("--%s %d: etcd may not have this revision yet: %w", f.revisionFlag, revision, err)
	}
	return err
}
