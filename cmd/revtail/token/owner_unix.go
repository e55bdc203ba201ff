//go:build unix

package token

import (
	"fmt"
	"os"
	"syscall"
)

// copyOwner sets the owner and the group of a file to those of another file.
func copyOwner(file *os.File, from os.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	owner, group := ownerOf(info)
	wantOwner, wantGroup := ownerOf(from)
	if owner == wantOwner && group == wantGroup {
		return nil
	}
	if err := file.Chown(wantOwner, wantGroup); err != nil {
		return fmt.Errorf("the file belongs to user %d and group %d, which the new file cannot be given: %w", wantOwner, wantGroup, err)
	}
	return nil
}

func ownerOf(info os.FileInfo) (user, group int) {
	stat := info.Sys().(*syscall.Stat_t) // the type that os uses on unix
	return int(stat.Uid), int(stat.Gid)
}
