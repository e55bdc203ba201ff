package change

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/compare"
	"revtail/cmd/revtail/source"
)

const diffLong = `Compare the objects of A and B, or show with -f what revtail apply would change. Nothing is changed.

A and B are each one of these, and may have a revision of etcd after an @:
  backup.db        a snapshot of an etcd, the database of a stopped one, its data directory, or an export of a journal, as 'revtail open' reads it
  live             the server of --server, --kubeconfig or --context
  https://HOST     another server, with --cacert, --cert and --token-file; unix:///path: its socket
  live@-10m        a server as it was at a time, if the keys API of a gateway of revtail has /registry/; or an export of a journal

With --from the server is compared with itself: as it was at a moment, with now or with --to. A gateway with --history-dir has these moments also after etcd has
compacted them.

Compared are the objects of all resources that A or B serves, or of those that are given, as 'revtail get' names them: secrets, deploy,cm or
deploy/web. They are those of all namespaces, or of --namespace, which leaves out resources without namespaces. Each object that differs is added, removed or changed,
and is printed as YAML in the unified format; --output name prints a line for each, and json one document. A resource that A or B does not
serve has no objects there. A file at a revision serves the resources that were defined then. A server serves those of now: a custom resource whose
definition was deleted since is not compared.

The managedFields, resourceVersion and generation of metadata are ignored, unless --show-managed-fields is given: they count writes, and differ
also after a change that has been undone. Everything else counts, also uid and status. Events of events.k8s.io, ComponentStatuses and metrics are compared only if they
are given. Lists are read in pages: memory does not grow with the number of objects. Each list of a server without a revision is as of its own
moment.

Values of Secrets are redacted, of files and of servers, with one key: equal ones stay equal, and those that differ have another digest. The key is
new each time; so a server of 'revtail open' that redacts can be compared only with itself. --redact none compares and prints the values.

Exit codes: 0 no differences; 1 differences; 2 refused, failed or wrong command line.`

const diffExample = `  # what has changed since a backup, and what between two revisions of it
  revtail diff backup.db live --context my-cluster
  revtail diff backup.db@4300 backup.db@4711 deploy,cm -n shop

  # what has changed in the last hour, and in ten minutes of the night
  revtail diff deploy/web -n shop --from -1h
  revtail diff -n shop --from 02:10 --to 02:20

  # two backups, one line for each object
  revtail diff monday.db tuesday.db -o name

  # what apply would change
  revtail diff -f web.yaml
  revtail diff -f deploy/ -R`

// NewDiffCommand returns the command diff.
func NewDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "diff (A B [RESOURCE…] | --from MOMENT [RESOURCE…] | -f FILE|FOLDER|URL|-)",
		GroupID: command.GroupRead,
		Short:   "Compare the objects of two snapshots, servers or revisions, or show what apply would change",
		Long:    diffLong,
		Example: diffExample,
	}
	d := &differ{applier: applier{dryRun: true}}
	set := cmd.Flags()
	d.files.addFlags(set)
	set.StringVar(&d.manager, "field-manager", "revtail", "`name` that owns the fields of the files")
	set.BoolVar(&d.force, "force-conflicts", false, "show what apply --force-conflicts would change")
	d.sources.AddFlags(cmd)
	d.addFlags(cmd)
	set.Lookup("namespace").Usage = "`namespace` of the objects; none: all for two sources, else that of the context, or default"
	cmd.RunE = command.AnyArgs(d.diff)
	return cmd
}

// differ is one run of the command diff.
type differ struct {
	applier

	sources compare.Command
}

func (d *differ) diff(cmd *cobra.Command, args []string) error {
	ofFiles := []string{"filename", "recursive", "field-manager", "force-conflicts"}
	if len(args) == 0 && !d.sources.OfOneServer() {
		if name := changedFlag(cmd, slices.Concat(compare.Flags, source.FileFlags)); name != "" {
			return usageError(cmd, "--%s has no effect with -f: want two sources, as backup.db live", name)
		}
		return d.diffFiles(cmd)
	}
	if name := changedFlag(cmd, ofFiles); name != "" {
		return usageError(cmd, "--%s and other sources: want two sources, as backup.db live, --from, or -f", name)
	}
	colored, err := command.UseColor(d.color, cmd.OutOrStdout())
	if err != nil {
		return command.UsageError(err)
	}
	d.sources.Sources.Gateway = &d.gateway
	return d.sources.Run(cmd, args, d.gateway.Namespace, colored)
}

// changedFlag returns the first of the flags that is given; empty: none.
func changedFlag(cmd *cobra.Command, names []string) string {
	i := slices.IndexFunc(names, cmd.Flags().Changed)
	if i < 0 {
		return ""
	}
	return names[i]
}

// diffFiles shows what an apply of files would change.
func (d *differ) diffFiles(cmd *cobra.Command) error {
	changes, err := d.plan(cmd)
	if err != nil {
		return &command.ExitError{Code: command.ExitUsage, Err: err}
	}
	defer d.client.Close()
	if err := d.show(cmd.OutOrStdout(), changes); err != nil {
		return &command.ExitError{Code: command.ExitUsage, Err: err}
	}
	if n := countDifferent(changes); n > 0 {
		return &command.ExitError{Code: command.ExitFailure, Err: fmt.Errorf("%d of %d objects would change", n, len(changes))}
	}
	return nil
}
