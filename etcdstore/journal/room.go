package journal

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"revtail/etcdstore"
)

// reserve is how many bytes of the disk stay free, because the database cannot go on when a write fails.
const reserve = 256 << 20

// roomInterval is how long the free space of the disk is taken to be what it was: less is written in that time than the reserve has.
const roomInterval = time.Second

// room is the free space of the disk, as of the last look.
type room struct {
	looked atomic.Int64 // Unix time in nanoseconds
	scarce atomic.Bool
}

// hasRoom reports whether the disk has room for more events.
func (j *Journal) hasRoom() bool {
	now, looked := time.Now().UnixNano(), j.room.looked.Load()
	if age := now - looked; (age < 0 || age >= int64(roomInterval)) && j.room.looked.CompareAndSwap(looked, now) {
		available := j.available
		if available == nil {
			available = j.availableOnDisk
		}
		bytes, err := available()
		j.room.scarce.Store(err == nil && bytes <= reserve)
	}
	return !j.room.scarce.Load()
}

func (j *Journal) availableOnDisk() (uint64, error) {
	usage, err := vfs.Default.GetDiskUsage(j.dir)
	return usage.AvailBytes, err
}

// awaitRoomFollowing waits until the disk has room, while the events of a watch wait in etcd. The error says that the etcd may be another one by now: the
// watch itself does not tell, because nothing is read from it.
func (r *Recorder) awaitRoomFollowing(ctx context.Context, p *part, w etcdstore.Watcher) error {
	if r.journal.hasRoom() {
		return nil
	}
	revision, err := r.config.Store.Revision(ctx)
	if err != nil {
		return err
	}
	// A watch of one key, which is the prefix itself, has hardly an event that could hide its end. It begins while the other one is still open, at the
	// same etcd.
	beside := r.config.Store.Watch(ctx, p.prefix, etcdstore.WatchOptions{After: revision, Exact: true})
	defer func() { _ = beside.Close() }()
	for _, each := range []etcdstore.Watcher{beside, w} {
		if err := each.RequestProgress(ctx); err != nil { // waits until the watch is open
			return err
		}
	}
	return r.awaitRoom(ctx, beside)
}

// awaitRoom waits until the disk has room, or until a watch ends; nil: there is none. Events wait in etcd meanwhile.
func (r *Recorder) awaitRoom(ctx context.Context, beside etcdstore.Watcher) error {
	if r.journal.hasRoom() {
		return nil
	}
	r.config.Logger.Error("the journal is not written, because its disk has less than 256 MiB free")
	for !r.journal.hasRoom() {
		if err := await(ctx, beside); err != nil {
			return err
		}
	}
	r.config.Logger.Info("the journal is written again")
	return nil
}

// await waits for a moment. The error is that of ctx, or of the watch if there is one.
func await(ctx context.Context, beside etcdstore.Watcher) error {
	if beside != nil {
		_, _, err := next(ctx, beside, retryPause)
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(retryPause):
		return nil
	}
}
