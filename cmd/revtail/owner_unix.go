//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// giveTo makes a file that of another one's owner and group.
func giveTo(file *os.File, as os.FileInfo) error {
	is, err := file.Stat()
	if err != nil {
		return err
	}
	owner, group := ownerOf(is)
	wantOwner, wantGroup := ownerOf(as)
	if owner == wantOwner && group == wantGroup {
		return nil
	}
	if err := file.Chown(wantOwner, wantGroup); err != nil {
		return fmt.Errorf("it belongs to user %d and group %d, and has to stay theirs: %w", wantOwner, wantGroup, err)
	}
	return nil
}

func ownerOf(info os.FileInfo) (user, group int) {
	stat := info.Sys().(*syscall.Stat_t) // which os has here
	return int(stat.Uid), int(stat.Gid)
}
