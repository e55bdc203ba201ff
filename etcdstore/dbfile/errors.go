package dbfile

import (
	"errors"
	"fmt"

	"revtail/etcdstore"
)

var (
	// ErrReadOnly is the error of every write.
	ErrReadOnly = errors.New("the store is a file, and files are only read")
	// ErrInUse is the error for the file of an etcd that runs.
	ErrInUse = errors.New("an etcd that runs uses it: save a snapshot of that etcd, or stop it")
)

// DamagedError says what is wrong with a file, and what can be read nevertheless.
type DamagedError struct {
	Reason  error
	Changes int                // before the damage
	Through etcdstore.Revision // the newest revision whose state is complete; zero: there is none
}

func (e *DamagedError) Error() string {
	if e.Through == 0 {
		return fmt.Sprintf("the file is damaged, and nothing in it can be read: %v", e.Reason)
	}
	return fmt.Sprintf("the file is damaged: %v; what can be read are %d changes, up to revision %d", e.Reason, e.Changes, e.Through)
}

func (e *DamagedError) Unwrap() error { return e.Reason }
