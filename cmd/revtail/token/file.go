package token

import (
	"errors"
	"os"
	"path/filepath"
)

// replaceFile writes a file completely or not at all. It keeps the owner, group and mode of an existing file, because a gateway
// may depend on them to read it. A new file has mode 600.
func replaceFile(name string, content []byte) error {
	mode, keep := os.FileMode(0o600), func(*os.File) error { return nil }
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil {
		mode, keep = info.Mode().Perm(), func(next *os.File) error { return copyOwner(next, info) }
	}
	next, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	err = errors.Join(err, keep(next), next.Chmod(mode), next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), name)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // an incomplete file is of no use
	}
	return err
}
