//go:build !linux

package webserver

import "syscall"

// restrict does nothing on this platform, where a socket has no mode before it is bound: listenUnix sets it afterwards.
func restrict(syscall.RawConn) error { return nil }
