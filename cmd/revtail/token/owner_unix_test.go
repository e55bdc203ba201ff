//go:build unix

package token

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedFileStaysReadable checks that a replaced file keeps its group and mode.
func TestReplacedFileStaysReadable(t *testing.T) {
	group := otherGroup(t)
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, -1, group); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil { //nolint:gosec // the mode is the subject of the test
		t.Fatal(err)
	}
	if err := replaceFile(name, []byte("next")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := ownerOf(info); got != group || info.Mode().Perm() != 0o640 {
		t.Errorf("group %d, mode %o; want %d and 640", got, info.Mode().Perm(), group)
	}
}

// otherGroup returns a group to which this process may give a file, other than its own.
func otherGroup(t *testing.T) int {
	t.Helper()
	if os.Getuid() == 0 {
		return os.Getgid() + 1
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		if group != os.Getgid() {
			return group
		}
	}
	t.Skip("this user has no other group to give a file to")
	return 0
}
