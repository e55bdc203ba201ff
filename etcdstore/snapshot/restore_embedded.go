//go:build !noembedded

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"revtail/etcdstore/embedded"
)

// logSize is what the log of a new member takes: two segments, which etcd allocates before it needs them.
const logSize = 2 * 64 << 20

// Restore makes the data directory of a member, and returns the status of the snapshot. The directory appears when it is complete; until then
// its files are in a temporary one beside it, which Restore removes after an error, and when ctx ends.
func Restore(ctx context.Context, o RestoreOptions, progress Progress) (status Status, err error) {
	if err := checkEmpty(o.DataDir); err != nil {
		return Status{}, err
	}
	if status, err = Inspect(ctx, o.File, o.Check); err != nil {
		return Status{}, err
	}
	parent := filepath.Dir(filepath.Clean(o.DataDir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return Status{}, err
	}
	wanted := uint64(status.TotalSize) + logSize //nolint:gosec // a size
	if free, err := embedded.Free(parent); err == nil && free < wanted {
		return Status{}, fmt.Errorf("%w in %s: it has %d MiB left, and the restore needs %d", ErrNoRoom, parent, free>>20, wanted>>20)
	}
	temporary, err := os.MkdirTemp(parent, "."+filepath.Base(o.DataDir)+".*.part") // mode 0700
	if err != nil {
		return Status{}, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := build(ctx, o, temporary, func(done int64) { progress(min(done, status.TotalSize), status.TotalSize) }); err != nil {
		return Status{}, err
	}
	return status, moveInto(temporary, o.DataDir)
}

// build makes the files. It does not wait for their end when ctx ends, because etcd's function has no context.
func build(ctx context.Context, o RestoreOptions, dir string, progress func(done int64)) error {
	built := make(chan error, 1)
	go func() {
		err := errors.New("etcd gave up")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("etcd gave up: %v", p)
			}
			built <- err
		}()
		logger := zap.New(zapcore.NewNopCore(), zap.WithFatalHook(zapcore.WriteThenPanic))
		err = snapshot.NewV3(logger).Restore(snapshot.RestoreConfig{
			SnapshotPath: o.File, OutputDataDir: dir, SkipHashCheck: o.Check == NoChecksum,
			RevisionBump: o.Bump, MarkCompacted: o.Bump > 0,
			Name: o.Name, InitialCluster: o.InitialCluster, InitialClusterToken: o.Token, PeerURLs: o.PeerURLs,
		})
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-built:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			if info, err := os.Stat(filepath.Join(dir, "member", "snap", "db")); err == nil {
				progress(info.Size())
			}
		}
	}
}
