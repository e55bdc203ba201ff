package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The files and directories of an import.
const (
	// incompleteFile is in a directory into which an import writes. Such a directory is not opened.
	incompleteFile = "IMPORT-INCOMPLETE"
	// completeFile takes its place until the directory has its name.
	completeFile = "IMPORT-COMPLETE"
	// importSuffix is added to the name of the directory until the import is complete.
	importSuffix = ".import"
)

// ErrNotEmpty says that the directory has files.
var ErrNotEmpty = errors.New("the directory is not empty")

// removeIncomplete removes what an import has left that was killed. The error says that one runs, or that the directory is none of an import.
func removeIncomplete(temporary string, logger *slog.Logger) error {
	err := checkEmpty(temporary)
	if err == nil || !errors.Is(err, ErrNotEmpty) { // a killed import may have left it empty
		return errors.Join(err, removeEmpty(temporary))
	}
	_, incomplete := os.Lstat(filepath.Join(temporary, incompleteFile))
	_, complete := os.Lstat(filepath.Join(temporary, completeFile))
	if incomplete != nil && complete != nil {
		return fmt.Errorf("%s is not empty, and none of an import: move it away, because the import writes there first", temporary)
	}
	lock, err := pebble.LockDirectory(temporary, vfs.Default)
	if errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("another import writes into %s: wait until it ends", temporary)
	}
	if err != nil {
		return err
	}
	logger.Warn("removing what an import has left that was killed", "directory", temporary)
	return errors.Join(os.RemoveAll(temporary), lock.Close())
}

func removeEmpty(dir string) error {
	if err := os.Remove(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	return nil
}

// publish gives a complete journal its name.
func publish(temporary, dir string) error {
	if err := os.Rename(filepath.Join(temporary, incompleteFile), filepath.Join(temporary, completeFile)); err != nil {
		return err
	}
	if err := removeEmpty(dir); err != nil {
		return err
	}
	if err := os.Rename(temporary, dir); err != nil {
		return err
	}
	parent, err := vfs.Default.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close(), os.Remove(filepath.Join(dir, completeFile)))
}
