package recorder

import (
	"context"
	"sync/atomic"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// roomInterval is how long the free space of the disk is taken to be what it was: less is written in that time than the reserve of the journal has.
const roomInterval = time.Second

// room is the free space of the disk, as of the last look.
type room struct {
	free   func() (bytes uint64, ok bool)
	looked atomic.Int64 // Unix time in nanoseconds
	scarce atomic.Bool
}

// has reports whether the disk has room for more events.
func (r *room) has() bool {
	now, looked := time.Now().UnixNano(), r.looked.Load()
	if age := now - looked; (age < 0 || age >= int64(roomInterval)) && r.looked.CompareAndSwap(looked, now) {
		bytes, ok := r.free()
		r.scarce.Store(ok && bytes <= journal.Reserve)
	}
	return !r.scarce.Load()
}

// awaitRoomFollowing waits until the disk has room, while the events of a watch wait in etcd. The error says that the etcd may be another one by now: the
// watch itself does not tell, because nothing is read from it.
func (r *Recorder) awaitRoomFollowing(ctx context.Context, p *part, w etcdstore.Watcher) error {
	if r.room.has() {
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
	if r.room.has() {
		return nil
	}
	r.config.Logger.Error("the journal is not written, because its disk has less than 256 MiB free")
	for !r.room.has() {
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
