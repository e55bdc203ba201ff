//go:build !unix

package token

import "os"

// copyOwner does nothing, because files have no group on this system.
func copyOwner(*os.File, os.FileInfo) error { return nil }
