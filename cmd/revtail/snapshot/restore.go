package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore/snapshot"
)

const restoreHelp = `Make the data directory of an etcd from a snapshot: of the embedded etcd, or, with --name, --initial-cluster and
--initial-advertise-peer-urls, of each member of a cluster.

A plain restore counts on from the revision of the snapshot: etcd would use revisions again that clients have already seen, with other
content, and a watch that resumes would miss changes without an error. Therefore the revisions of the restored etcd are higher by
--bump-revision, and all before that are marked as compacted. Watches from before the restore then end with 410, and clients list again.
The default of 1,000,000,000 is more than an etcd counts in three years at ten writes a second. Give a higher number if your etcd wrote
more between the snapshot and the restore.

The directory must not exist, or be empty, and appears when it is complete.`

// memberName and memberPeer are the name and the URL of the embedded etcd.
const memberName, memberPeer = "revtail", "http://localhost:2380"

// restorer has the flags of restore.
type restorer struct {
	options       snapshot.RestoreOptions
	markCompacted bool
	skipHashCheck *bool
}

func newRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a snapshot",
		Long:  restoreHelp,
		Example: `  # the embedded etcd: stop revtail, restore, start revtail
  mv revtail.etcd revtail.etcd.before
  revtail snapshot restore backup.db --data-dir revtail.etcd

  # a cluster of three: the same snapshot on each machine, here on the first one
  revtail snapshot restore backup.db --data-dir /var/lib/etcd --name m0 --initial-advertise-peer-urls http://etcd-0:2380 \
    --initial-cluster m0=http://etcd-0:2380,m1=http://etcd-1:2380,m2=http://etcd-2:2380`,
	}
	r := &restorer{}
	r.addFlags(cmd.Flags())
	r.skipHashCheck = skipFlag(cmd)
	cmd.RunE = withFile(r.run)
	return cmd
}

func (r *restorer) addFlags(flags *pflag.FlagSet) {
	o := &r.options
	flags.StringVar(&o.DataDir, "data-dir", "", "`directory` to make")
	flags.Uint64Var(&o.Bump, "bump-revision", snapshot.DefaultBump, "`number` by which the revisions of the restored etcd are higher; 0, with --mark-compacted=false: they count on from the snapshot")
	flags.BoolVar(&r.markCompacted, "mark-compacted", true, "mark all revisions before as compacted, so that watches from before the restore end with 410")
	flags.StringVar(&o.Name, "name", memberName, "`name` of the member")
	flags.StringVar(&o.InitialCluster, "initial-cluster", "", "`members` of the cluster, as m0=http://etcd-0:2380,m1=http://etcd-1:2380; none: this member alone")
	flags.StringVar(&o.Token, "initial-cluster-token", "etcd-cluster", "`token` of the cluster, the same for all members")
	flags.StringSliceVar(&o.PeerURLs, "initial-advertise-peer-urls", nil, "`URLs` of this member for the others; none: those of --initial-cluster")
}

func (r *restorer) run(cmd *cobra.Command, file string) error {
	r.options.File, r.options.Check = file, snapshot.Check(!*r.skipHashCheck)
	if err := r.complete(); err != nil {
		return command.UsageError(err)
	}
	bar := newProgress(cmd.ErrOrStderr(), "restoring "+file)
	status, err := snapshot.Restore(cmd.Context(), r.options, bar.show)
	bar.end()
	switch {
	case errors.Is(err, snapshot.ErrNotEmpty):
		return command.UsageError(fmt.Errorf("--data-dir %w: move it away, or choose another one", err))
	case errors.Is(err, snapshot.ErrNoRoom):
		return fmt.Errorf("%w: make room, or choose another --data-dir", err)
	case err != nil:
		return explain(err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has the %d keys of %s; its revision is %d\n%s\n", r.options.DataDir, status.TotalKeys, file,
		max(uint64(status.Revision)+r.options.Bump, 1), r.next()) //nolint:gosec // revisions are positive
	return err
}

// complete checks the flags, and sets those that follow from others.
func (r *restorer) complete() error {
	o := &r.options
	switch {
	case o.DataDir == "":
		return errors.New("want --data-dir, the directory to make, as in --data-dir revtail.etcd")
	case r.markCompacted != (o.Bump > 0):
		return errors.New("--bump-revision and --mark-compacted go together: a bump without the mark leaves revisions that clients have seen readable. " +
			"To count on from the snapshot, give --bump-revision 0 --mark-compacted=false")
	case o.Bump > maxBump:
		return fmt.Errorf("--bump-revision %d: want %d at most, because clients read revisions as numbers of 53 bits", o.Bump, uint64(maxBump))
	case o.Name == "":
		return errors.New("--name is empty: want the name of the member, as m0")
	case o.InitialCluster == "" && len(o.PeerURLs) == 0:
		o.PeerURLs = []string{memberPeer}
	case o.InitialCluster == "":
	case !strings.Contains(","+o.InitialCluster, ","+o.Name+"="):
		return fmt.Errorf("--initial-cluster %q has no member with the name of --name, %q", o.InitialCluster, o.Name)
	case len(o.PeerURLs) == 0:
		for member := range strings.SplitSeq(o.InitialCluster, ",") {
			if url, ok := strings.CutPrefix(member, o.Name+"="); ok {
				o.PeerURLs = append(o.PeerURLs, url)
			}
		}
	}
	if o.InitialCluster == "" {
		o.InitialCluster = o.Name + "=" + strings.Join(o.PeerURLs, ","+o.Name+"=")
	}
	return nil
}

// maxBump keeps revisions within the numbers that JavaScript reads exactly.
const maxBump = 1 << 52

// next says what to do with the directory.
func (r *restorer) next() string {
	o := r.options
	if o.Name == memberName && o.InitialCluster == memberName+"="+memberPeer {
		return "next: revtail serve --data-dir " + o.DataDir
	}
	return fmt.Sprintf("next, when every member has its directory: etcd --name %s --data-dir %s --listen-peer-urls %s --listen-client-urls %s",
		o.Name, o.DataDir, cmp.Or(strings.Join(o.PeerURLs, ","), "…"), "http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379")
}
