package objects

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/offline"
	"revtail/gateway/config"
)

// snapshotGroup is the group of the flags of a snapshot.
const snapshotGroup = "Snapshot"

// addSnapshot defines the flags of a file that is read instead of a gateway.
func (f *flags) addSnapshot(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.snapshot.File, "snapshot", "", "`file` of a snapshot, or data directory of a stopped etcd, that is read instead of a gateway")
	f.snapshot.AddFlags(cmd)
	config.GroupFlags(set, snapshotGroup, "snapshot", "etcd-prefix", "encryption-provider-config", "redact", "partial", "skip-hash-check")
}

// openSnapshot makes the gateway of the flags one in this process, which serves the file of --snapshot, if there is one. The caller calls
// stop.
func (f *flags) openSnapshot(cmd *cobra.Command) (stop func(), err error) {
	if f.snapshot.File == "" {
		for _, name := range []string{"etcd-prefix", "encryption-provider-config", "redact", "partial", "skip-hash-check"} {
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
	logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
	s, err := offline.Open(cmd.Context(), f.snapshot, logger)
	if err != nil {
		return nil, err
	}
	dial, end, err := s.Serve(cmd.Context())
	if err != nil {
		_ = s.Close() // it was only read
		return nil, err
	}
	f.gateway = client.Config{Servers: []string{offline.Host}, Namespace: f.gateway.Namespace, ServerFlag: "--snapshot", NoProxy: true, Dial: dial}
	return func() {
		end()
		_ = s.Close() // it was only read
	}, nil
}
