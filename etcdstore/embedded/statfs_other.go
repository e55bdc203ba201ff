//go:build !noembedded && !linux && !darwin && !freebsd

package embedded

import "errors"

// statfs fails on this system, so that no write is refused.
func statfs(string) (uint64, error) { return 0, errors.ErrUnsupported }
