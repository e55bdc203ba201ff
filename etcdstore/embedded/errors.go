package embedded

import (
	"errors"
	"fmt"
	"syscall"
)

// What a *DataDirError or an *AddressError may wrap; test with errors.Is.
var (
	ErrDataDirInUse = errors.New("in use by another process")
	ErrAddressInUse = errors.New("address already in use")
)

// ConfigError says that Config, or the etcd configuration file that it names, cannot be used.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap is the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

// DataDirError says that the data directory cannot be used: it wraps ErrDataDirInUse, the error of a file in it,
// which has the file's name, or the *FatalError with which etcd gave up reading it.
type DataDirError struct {
	Dir string
	Err error
}

func (e *DataDirError) Error() string { return fmt.Sprintf("data directory %s: %v", e.Dir, e.Err) }

// Unwrap is the reason.
func (e *DataDirError) Unwrap() error { return e.Err }

// AddressError says that etcd cannot listen on a client address: it wraps ErrAddressInUse or the network's error.
type AddressError struct {
	Address string // host:port
	Err     error
}

func (e *AddressError) Error() string { return fmt.Sprintf("listen on %s: %v", e.Address, e.Err) }

// Unwrap is the reason.
func (e *AddressError) Unwrap() error { return e.Err }

func newAddressError(address string, err error) *AddressError {
	if errors.Is(err, syscall.EADDRINUSE) {
		err = ErrAddressInUse
	}
	return &AddressError{Address: address, Err: err}
}

// FatalError is a failure at which etcd gives up, such as a log file that cannot be written or read back.
type FatalError struct{ Message string }

func (e *FatalError) Error() string { return "etcd gave up: " + e.Message }
