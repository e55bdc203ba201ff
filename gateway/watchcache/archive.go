package watchcache

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
)

// archive reads etcd's own history for one watcher, until the log can take over. Its number is bounded: each is a watch in
// etcd, and a client that waits its turn is in no worse place than one that reads slowly.
type archive struct {
	cache   *Cache
	era     int // of the cache when the watch was opened
	scope   scope
	after   etcdstore.Revision // the client has everything up to here, but for a part of this revision itself
	through etcdstore.Revision // delivered up to here

	seated  bool // holds one of cache.archives
	watcher etcdstore.Watcher
	cancel  context.CancelFunc // ends watcher
	pause   time.Duration      // before the next attempt to reach etcd
}

// nextPast delivers the next step of history, and turns back to the log once the two meet.
func (w *Watcher) nextPast(ctx context.Context) (Batch, error) {
	events, err := w.past.next(ctx)
	if err != nil {
		return Batch{}, err
	}
	events = w.resumeIn(events)
	w.through = w.past.through
	if w.past.meetsLog() {
		w.past.close()
		w.past, w.position = nil, 0
	}
	return Batch{Changes: w.matching(nil, events), Through: w.through}, nil
}

// meetsLog tells whether the log holds everything that follows.
func (a *archive) meetsLog() bool {
	a.cache.mu.Lock()
	defer a.cache.mu.Unlock()
	return a.cache.ready && a.through >= a.cache.log.floor
}

// next waits for the next batch. When etcd cannot be reached it tries until ctx ends.
func (a *archive) next(ctx context.Context) ([]*event, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	for {
		batch, err := a.receive(ctx)
		if err := a.cache.present(a.era, a.after); err != nil {
			return nil, err // what was received may be of either history
		}
		switch {
		case err == nil:
			a.pause = firstPause
			return a.events(batch)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			// Not caught up, or nothing happened: ask which. A failure shows in the watch itself.
			_ = a.watcher.RequestProgress(ctx)
		case errors.Is(err, etcdstore.ErrUnavailable):
			if err := a.again(ctx); err != nil {
				return nil, err
			}
		default:
			return nil, a.translate(err)
		}
	}
}

// again opens the watch another time, once etcd answers and has not gone back: a watch would not tell.
func (a *archive) again(ctx context.Context) error {
	a.hangUp()
	for {
		sleep(ctx, a.pause)
		a.pause = min(2*a.pause, maxPause)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.cache.present(a.era, a.after); err != nil {
			return err
		}
		if _, err := a.cache.Newest(ctx); err == nil {
			return a.open(ctx)
		}
	}
}

func (a *archive) receive(ctx context.Context) (etcdstore.Batch, error) {
	bounded, cancel := context.WithTimeout(ctx, askGap)
	defer cancel()
	return a.watcher.Next(bounded)
}

// open takes a seat and opens the watch, if that is not done.
func (a *archive) open(ctx context.Context) error {
	if !a.seated {
		select {
		case a.cache.archives <- struct{}{}:
			a.seated = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if a.watcher == nil {
		open, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ctx ends one call; close ends the watch
		a.cancel = cancel
		a.watcher = a.cache.config.Store.Watch(open, a.cache.config.Prefix+a.scope.path(), a.through)
	}
	return nil
}

func (a *archive) hangUp() {
	if a.watcher != nil {
		a.cancel()
		_ = a.watcher.Close() // what it has to say, Next said
		a.watcher = nil
	}
}

func (a *archive) close() {
	a.hangUp()
	if a.seated {
		<-a.cache.archives
		a.seated = false
	}
}

func (a *archive) translate(err error) error {
	var compacted *etcdstore.CompactedError
	if errors.As(err, &compacted) {
		return &ExpiredError{Requested: a.after, Oldest: compacted.Compacted}
	}
	return err
}

// events makes what the log would hold. A state before a change that etcd has compacted away cannot be told to a client: its
// revision has expired.
func (a *archive) events(batch etcdstore.Batch) ([]*event, error) {
	events := make([]*event, 0, len(batch.Events))
	for _, e := range batch.Events {
		if e.PrevLost() && e.Revision > a.after {
			return nil, &ExpiredError{Requested: a.after, Oldest: e.Revision}
		}
		if change := a.cache.pastEvent(e); change != nil {
			events = append(events, change)
		}
	}
	a.through = batch.Through
	return events, nil
}

// pastEvent makes an event of one that etcd tells of the past; nil: it shows nothing.
func (c *Cache) pastEvent(e etcdstore.Event) *event {
	var current, previous *Object
	if e.Prev != nil {
		previous = c.Decode(*e.Prev)
	}
	if e.KV != nil {
		current = c.Decode(*e.KV)
	}
	return newEvent(e.Revision, current, previous)
}
