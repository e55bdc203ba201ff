package objects

import (
	"fmt"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/source"
	"revtail/gateway/config"
)

// snapshotGroup is the group of the flags of a snapshot.
const snapshotGroup = "Snapshot"

// addSnapshot defines the flags of a file that is read instead of a gateway.
func (f *flags) addSnapshot(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.snapshot.File, "snapshot", "", "`file` of a snapshot, data directory of a stopped etcd, or export of a journal that is read instead of a gateway")
	f.snapshot.AddFlags(cmd)
	config.GroupFlags(set, snapshotGroup, append([]string{"snapshot"}, source.FileFlags...)...)
}

// openSnapshot makes the gateway of the flags one in this process, which serves the file of --snapshot, if there is one. The caller calls
// stop.
func (f *flags) openSnapshot(cmd *cobra.Command) (stop func(), err error) {
	if f.snapshot.File == "" {
		for _, name := range source.FileFlags {
			if cmd.Flags().Changed(name) {
				return nil, usageError(cmd, fmt.Errorf("--%s has no effect without --snapshot: want the file of an etcd there", name))
			}
		}
		return func() {}, nil
	}
	for _, name := range []string{"server", "kubeconfig", "context"} {
		if cmd.Flags().Changed(name) {
			return nil, usageError(cmd, fmt.Errorf("--snapshot and --%s: want one of them", name))
		}
	}
	if err := f.snapshot.Check(); err != nil {
		return nil, usageError(cmd, err)
	}
	file, err := source.OpenFile(cmd.Context(), f.snapshot, "--snapshot", cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	namespace := f.gateway.Namespace
	f.gateway, stop = file.Gateway, file.Close
	if revision := f.query.Revision; revision >= int64(file.Info.Oldest) && revision < int64(file.Info.Newest) {
		then, failed := file.AsOf(cmd.Context(), revision, cmd.ErrOrStderr()) // it has the resources that were defined then
		if failed != nil {
			file.Close()
			return nil, fmt.Errorf("--%s: %w", f.revisionFlag, failed)
		}
		f.gateway, stop = then.Gateway, func() { then.Close(); file.Close() }
	}
	f.gateway.Namespace = namespace
	return stop, nil
}
