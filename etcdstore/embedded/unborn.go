package embedded

import (
	"log/slog"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// discardUnborn removes the files of a first start that ended before the member joined its own cluster. etcd creates its log before the
// first entry, with which the member joins. A later start finds a log without that entry, does not bootstrap a cluster, and waits for a
// leader without end. A log without entries has no data.
func discardUnborn(dataDir string, log *slog.Logger) error {
	member := filepath.Join(dataDir, "member")
	if !isUnborn(member) {
		return nil
	}
	log.Warn("the first start was interrupted before it wrote data: starting again", "dir", member)
	if err := os.RemoveAll(member); err != nil {
		return &DataDirError{Dir: dataDir, Err: err}
	}
	return nil
}

// isUnborn reports whether the log of a member has no entries. It is false in case of errors.
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
