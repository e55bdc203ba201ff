package embedded

import (
	"log/slog"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// discardUnborn removes what a first start has left that ended before the member was in its own cluster. etcd writes its log
// before the first entry of it, the one by which the only member joins; without that entry a later start finds a log, does not
// begin a cluster, and waits for a leader for ever. Where there is no entry, nothing has ever been written.
func discardUnborn(dataDir string, log *slog.Logger) error {
	member := filepath.Join(dataDir, "member")
	if !isUnborn(member) {
		return nil
	}
	log.Warn("an earlier first start was cut off before anything was written: starting anew", "dir", member)
	if err := os.RemoveAll(member); err != nil {
		return &DataDirError{Dir: dataDir, Err: err}
	}
	return nil
}

// isUnborn tells whether a member has a log without any entry. In doubt it has one.
func isUnborn(member string) bool {
	segments, _ := filepath.Glob(filepath.Join(member, "wal", "*.wal"))
	snapshots, _ := filepath.Glob(filepath.Join(member, "snap", "*.snap"))
	if len(segments) != 1 || len(snapshots) > 0 {
		return false
	}
	w, err := wal.OpenForRead(zap.NewNop(), filepath.Join(member, "wal"), &walpb.Snapshot{})
	if err != nil {
		return false
	}
	defer func() { _ = w.Close() }() // it was only read
	_, _, entries, err := w.ReadAll()
	return err == nil && len(entries) == 0
}
