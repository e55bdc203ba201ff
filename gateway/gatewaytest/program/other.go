//go:build !linux

package program

import "errors"

var errLinuxOnly = errors.New("programs are measured on Linux only")

// RaiseFileLimit fails.
func RaiseFileLimit() (uint64, error) { return 0, errLinuxOnly }

// Freeze fails.
func (*Process) Freeze() error { return errLinuxOnly }

// Thaw fails.
func (*Process) Thaw() error { return errLinuxOnly }
