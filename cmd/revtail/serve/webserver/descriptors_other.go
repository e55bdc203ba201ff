//go:build !unix

package webserver

// descriptorLimit returns zero: this system has no such limit.
func descriptorLimit() uint64 { return 0 }
