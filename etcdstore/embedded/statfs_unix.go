//go:build !noembedded && (linux || darwin || freebsd)

package embedded

import "syscall"

// statfs returns how many bytes a process of this user can write to the file system of a directory.
func statfs(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:unconvert // the types depend on the system
}
