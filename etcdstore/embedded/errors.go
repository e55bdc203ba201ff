package embedded

import (
	"errors"
	"fmt"
	"syscall"
)

// The errors that *DataDirError and *AddressError wrap; use errors.Is.
var (
	ErrDataDirInUse = errors.New("in use by another process")
	ErrAddressInUse = errors.New("address already in use")
	ErrNoRoom       = errors.New("its disk has no room")
)

// ConfigError is the error for an invalid Config or configuration file.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// DataDirError is the error for a data directory that cannot be used. It wraps ErrDataDirInUse, ErrNoRoom, the error of a file with its name, or the
// *FatalError of etcd.
type DataDirError struct {
	Dir string
	Err error
}

func (e *DataDirError) Error() string { return fmt.Sprintf("data directory %s: %v", e.Dir, e.Err) }

// Unwrap returns the cause.
func (e *DataDirError) Unwrap() error { return e.Err }

// AddressError is the error of listening on a client address. It wraps ErrAddressInUse or the error of the network.
type AddressError struct {
	Address string // host:port
	Err     error
}

func (e *AddressError) Error() string { return fmt.Sprintf("listen on %s: %v", e.Address, e.Err) }

// Unwrap returns the cause.
func (e *AddressError) Unwrap() error { return e.Err }

func newAddressError(address string, err error) *AddressError {
	if errors.Is(err, syscall.EADDRINUSE) {
		err = ErrAddressInUse
	}
	return &AddressError{Address: address, Err: err}
}

// FatalError is an error at which etcd stops, such as a log file that cannot be written or read.
type FatalError struct{ Message string }

func (e *FatalError) Error() string { return "etcd gave up: " + e.Message }
