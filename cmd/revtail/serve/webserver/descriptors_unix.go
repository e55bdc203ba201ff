//go:build unix

package webserver

import "syscall"

// descriptorLimit returns how many descriptors the process may have; zero: any number. The runtime has raised the soft limit to the hard one.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) >= 1<<31 { //nolint:unconvert // the type depends on the system
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // the type depends on the system
}
