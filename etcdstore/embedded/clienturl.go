package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// urlFile is the file in a data directory with the URL of the process that uses the directory. Close removes it; a killed process
// leaves it behind.
func urlFile(dataDir string) string { return filepath.Join(dataDir, "client", "url") }

// HasData reports whether a directory has the log of an etcd.
func HasData(dataDir string) bool {
	segments, _ := filepath.Glob(filepath.Join(dataDir, "member", "wal", "*.wal"))
	return len(segments) > 0
}

// ClientURL returns the URL of the member that uses a data directory: its socket, or its client URL with the actual port. If no
// process uses the directory, it may be that of a killed one.
func ClientURL(dataDir string) (string, error) {
	url, err := os.ReadFile(urlFile(dataDir))
	if err == nil && len(url) == 0 {
		err = errors.New(urlFile(dataDir) + " is empty")
	}
	return strings.TrimSpace(string(url)), err
}

// writeClientURL writes the file for ClientURL.
func writeClientURL(dataDir, url string) error {
	file := urlFile(dataDir)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return newAddressError(url, err)
	}
	if err := os.WriteFile(file+".new", []byte(url+"\n"), 0o600); err != nil {
		return newAddressError(url, err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return newAddressError(url, err)
	}
	return nil
}
