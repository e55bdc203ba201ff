//go:build !noembedded && (!unix || solaris || aix)

package embedded

import (
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// lockDir locks a file in the directory, because this system cannot lock directories.
func lockDir(dir string) (*os.File, error) {
	f, err := fileutil.TryLockFile(filepath.Join(dir, "revtail.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, ErrDataDirInUse
	}
	if err != nil {
		return nil, err
	}
	return f.File, nil
}
