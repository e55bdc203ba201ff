//go:build !noembedded

package embedded

// Free returns how many bytes a process of this user can write to the file system of a directory.
func Free(dir string) (uint64, error) { return statfs(dir) }
