//go:build noembedded

package snapshot

import "context"

// Restore returns ErrNotSupported.
func Restore(context.Context, RestoreOptions, Progress) (Status, error) {
	return Status{}, ErrNotSupported
}
