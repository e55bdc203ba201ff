package history

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/history/historyapi"
)

// logger is one run of the command log.
type logger struct {
	session
	output
	interval
	filter, manager string
	allNamespaces   bool
	follow          bool

	printer *printer
	named   bool // the resources are given: one that cannot be read is an error
	readers []*position
	notices func(string)
	oldest  historyapi.End
	printed bool
}

// defaultSince is the --since of log.
const defaultSince = "10m"

// NewLogCommand returns the command log.
func NewLogCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log [RESOURCE[,RESOURCE…] | RESOURCE NAME… | RESOURCE/NAME…]",
		GroupID: command.GroupRead,
		Short:   "Print the changes of the objects of all resources in a time, and follow them",
		Long: `Print the changes of all objects that the gateway has recorded in a time, in one line each, the oldest first. The gateway needs --history-dir.

Without RESOURCE the changes are those of all resources that may be listed, in the namespace of --namespace, or with --all-namespaces in all
and of resources without namespaces. Events of events.k8s.io, ComponentStatuses and metrics are left out. --by leaves only the changes by a field manager,
and --filter those of objects for which a CEL expression is true.

The columns, --patch and --output are those of 'revtail history'. --follow goes on with the changes that follow, once a second. It survives restarts of the
gateway, and prints each change once; it says on the standard error output that the connection was lost. A resource that the gateway does not record
yet is named there, and the others are printed; --follow takes it in when it is recorded.

Exit codes: 0 printed; 1 refused or failed; 2 wrong command line.`,
		Example: `  revtail log -A
  revtail log --since 02:00 --until 02:30 deploy,cm -n shop -p
  revtail log -A --by kubectl -f
  revtail log deploy --filter 'object.spec.replicas > 3'`,
	}
	l := &logger{}
	l.interval.addFlags(cmd)
	if err := cmd.Flags().Set("since", defaultSince); err != nil {
		panic(err) // the default is no moment
	}
	since := cmd.Flags().Lookup("since")
	since.DefValue, since.Changed = defaultSince, false
	set := cmd.Flags()
	l.gateway.AddNamespaceFlag(set)
	set.BoolVarP(&l.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces, and those without one")
	set.StringVar(&l.filter, "filter", "", "CEL `expression` that is true for the objects, as 'object.spec.replicas > 3'; its variables are object, old, key and type")
	set.StringVar(&l.manager, "by", "", "only changes by this field `manager`, as kubectl")
	set.BoolVarP(&l.follow, "follow", "f", false, "go on with the changes that follow")
	l.output.addFlags(cmd)
	l.session.addFlags(cmd)
	cmd.ValidArgsFunction = completion.Objects(&l.gateway, &l.allNamespaces)
	cmd.RunE = command.AnyArgs(l.run)
	return cmd
}

func (l *logger) run(cmd *cobra.Command, args []string) error {
	if err := l.checkFlags(cmd, args); err != nil {
		return usageError(cmd, err)
	}
	if err := l.connect(cmd); err != nil {
		return err
	}
	defer l.client.Close()
	targets := defaults(l.resources, l.allNamespaces)
	if l.named = len(args) > 0; l.named {
		var err error
		if targets, err = client.Targets(l.resources, args); err != nil {
			return usageError(cmd, err)
		}
	}
	l.addReaders(targets)
	l.printer = &printer{
		session: &l.session, output: l.output, out: cmd.OutOrStdout(), width: command.Width(cmd.OutOrStdout()), objects: true, namespace: l.allNamespaces,
	}
	l.notices = func(text string) { _, _ = fmt.Fprintf(cmd.ErrOrStderr(), "revtail: %s\n", text) } // the command goes on without its notices
	ctx := cmd.Context()
	err := l.round(ctx, 0)
	if l.follow && ctx.Err() == nil && err == nil {
		return l.poll(ctx)
	}
	switch {
	case l.follow && ctx.Err() != nil: // SIGINT
		return nil
	case err != nil:
		return err
	case l.format == "json":
		return printEnd(l.printer, l.oldest)
	case !l.printed:
		l.notices("no changes in this time: " + recordedSince(l.oldest))
	}
	return nil
}

// checkFlags reads the arguments and flags as far as that is possible without the gateway.
func (l *logger) checkFlags(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := client.CheckArgs(args); err != nil {
			return err
		}
	}
	if l.follow && !l.until.IsZero() {
		return errors.New("--follow and --until: want one of them")
	}
	return errors.Join(l.output.check(), l.session.check(cmd.OutOrStdout()), historyapi.CheckInterval(l.since, l.until))
}

// defaults returns a target for each resource that has objects of its own.
func defaults(resources []client.Resource, withUnnamespaced bool) (out []client.Target) {
	seen := make(map[string]bool)
	for _, r := range resources {
		name := r.QualifiedName()
		if seen[name] || !r.Namespaced && !withUnnamespaced || name == "events.events.k8s.io" || name == "componentstatuses" || strings.HasSuffix(r.Group, "metrics.k8s.io") {
			continue
		}
		seen[name] = true
		out = append(out, client.Target{Resource: r})
	}
	return out
}

// addReaders makes a reader for each resource, or for each object that is named.
func (l *logger) addReaders(targets []client.Target) {
	for _, target := range targets {
		names := target.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			q := historyapi.Query{
				Resource: target.Resource, Name: name, Filter: l.filter, Manager: l.manager, Since: l.since.Query(), Until: l.until.Query(), Previous: l.patch,
			}
			if target.Resource.Namespaced && !l.allNamespaces {
				q.Namespace = l.client.Namespace()
			}
			l.readers = append(l.readers, &position{Reader: historyapi.Reader{Client: l.client, Query: q}})
		}
	}
}

// skip decides whether the other resources are read without one.
func (l *logger) skip(err error) bool {
	return !l.named && (client.HasCode(err, http.StatusForbidden) || client.HasCode(err, http.StatusNotFound))
}

// print prints a change, and the headers before the first one.
func (l *logger) print(e historyapi.Merged) error {
	if !l.printed {
		l.printed = true
		if err := l.printer.header(); err != nil {
			return err
		}
	}
	return l.printer.entry(l.readers[e.Index].Query.Resource, e.Entry)
}
