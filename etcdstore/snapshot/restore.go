package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultBump is how far the revisions of a restored etcd are above those of the snapshot. It is more than an etcd counts in three years at
// ten writes a second, so that no client has seen a later revision.
const DefaultBump = 1_000_000_000

// RestoreOptions say what to restore, and for which member.
type RestoreOptions struct {
	File    string
	DataDir string // must not exist, or be empty
	Check   Check

	// Bump is added to the revision of the snapshot, and every revision before the result is marked as compacted, so that a watch from before
	// the restore gets an error, and no revision is used twice. Zero: revisions count on from that of the snapshot.
	Bump uint64

	Name           string
	InitialCluster string // NAME=URL of all members, separated by commas
	Token          string // of the cluster
	PeerURLs       []string
}

var (
	// ErrNotEmpty is the error for a data directory with files.
	ErrNotEmpty = errors.New("the directory is not empty")
	// ErrNotSupported is the error of a build without the server of etcd.
	ErrNotSupported = errors.New("this build of revtail has no embedded etcd (build tag noembedded), and cannot restore")
	// ErrNoRoom is the error for a file system without room for the data directory.
	ErrNoRoom = errors.New("there is no room")
)

// checkEmpty refuses a directory with files.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	return nil
}

// moveInto gives a complete directory its name. The former directory with this name is empty.
func moveInto(temporary, dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(temporary, dir); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	_ = parent.Sync() // some file systems cannot sync directories
	return parent.Close()
}
