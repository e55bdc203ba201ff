package gateway

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

const (
	// bookmarkPeriod is how often a client is told how far its watch is complete, and bookmarkBefore how long before the end. Proxies
	// cut what is silent for a minute (nginx, many clouds), or for 50 s (HAProxy as Debian has it), if nobody tells them otherwise.
	bookmarkPeriod = 45 * time.Second
	bookmarkBefore = 2 * time.Second
	// heartbeatInterval is how often a client of the plain dialect, or of an event stream, is told how far its watch is complete.
	heartbeatInterval = 15 * time.Second
	// headerDelay is how long the head of the answer waits for the state to be fixed. A client that writes as soon as it sees
	// the head then sees its write as an event, and not merged into the state.
	headerDelay = 200 * time.Millisecond
	// initialEventsTimeout is how long a watch whose time is over may go on with its initial state, or with what it is late with.
	initialEventsTimeout = 2 * time.Second
)

// runBlocking serves the watch on the caller's goroutine until it ends or is adopted by a writer; over HTTP/2 it waits for that one. An error:
// the client must see that the stream is broken.
func (wt *session) runBlocking(ctx context.Context) error {
	turn := &bookmarkInterval{parent: ctx}
	wake, err := wt.advance(turn)
	return wt.wait(turn, wake, err)
}

// wait is live after a first advance. It waits here, where the stack is small, for one channel, which takes less of it than a choice.
func (wt *session) wait(turn *bookmarkInterval, wake <-chan struct{}, err error) error {
	for wake != nil {
		<-wake
		wake, err = wt.advance(turn)
	}
	return err
}

// advance does what there is to do. When wake has something, there may be more; nil: the watch has ended.
func (wt *session) advance(turn *bookmarkInterval) (wake <-chan struct{}, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			logPanic(wt.service.logger, reason, "path", wt.counters.path)
			wake, err = nil, errInternal
			turn.end()
			wt.close(err)
		}
	}()
	if wt.handover != nil {
		if wt.handover.ended {
			return nil, wt.handover.err
		}
		wt.resumeHTTP2(turn)
	}
	if wake, err = wt.run(turn); wake != nil {
		return wake, nil
	}
	if errors.Is(err, errAdopted) {
		return wt.adopted(turn), nil
	}
	if err == nil {
		err = wt.stream.end()
	}
	wt.close(err)
	return nil, err
}

// adopted is closed when a writer has done with the watch; nil: nobody waits for that.
func (wt *session) adopted(turn *bookmarkInterval) <-chan struct{} {
	if wt.handover == nil {
		return nil
	}
	turn.parent = nil // it has ended, and need not be held
	return wt.handover.done
}

// run writes what there is, and returns what to wait for; nil: the deadline, the client or the server has ended the watch, or a
// writer adopts it. Its error is one of the connection, or errAdopted.
func (wt *session) run(turn *bookmarkInterval) (wake <-chan struct{}, err error) {
	ctx := turn.parent
	for {
		if turn.ctx == nil {
			if wt.tryAdopt() { // without a term: few watches need more than the time until here
				return nil, errAdopted
			}
			turn.begin(ctx, wt.nextBookmark(), wt.watcher.Bell())
		}
		wake, ended, err := wt.deliver(turn.ctx)
		if wake != nil {
			return wake, nil
		}
		turn.end()
		switch {
		case err != nil:
			return nil, err
		case ended:
			return nil, nil
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDraining):
			return nil, nil // the client has gone
		}
		last := ctx.Err() != nil || wt.expired(time.Now())
		if err := wt.catchUp(last); err != nil || last {
			return nil, err
		}
	}
}

// deliver writes what the cursor has, and returns what to wait for; nil: ctx has ended or, with ended, the watch is over, after an
// ERROR frame where one is due.
func (wt *session) deliver(ctx context.Context) (wake <-chan struct{}, ended bool, err error) {
	for {
		if !wt.watcher.Follows() {
			wt.stream.detectClose()
			wt.watcher.Begin(ctx)
		}
		if wt.tryAdopt() {
			return nil, true, errAdopted
		}
		wt.stream.detectClose()
		batch, wake, err := wt.watcher.Try(ctx)
		if why := wt.registration.revoked.Load(); why != nil {
			return nil, true, wt.stream.write(wt.encoder.errorEvent(nil, *why))
		}
		switch {
		case ctx.Err() != nil && (err != nil || wake != nil):
			return nil, false, nil //nolint:nilerr // the stream is over, and whoever waits for ctx says why
		case wake != nil:
			return wake, false, nil
		case err == nil:
			if err := wt.write(batch); err != nil {
				return nil, true, err
			}
		case errors.Is(err, watchcache.ErrStopped):
			return nil, true, nil
		default:
			return nil, true, wt.stream.write(wt.encoder.errorEvent(nil, wt.counters.recordError(err)))
		}
	}
}

func (wt *session) write(batch watchcache.Batch) error {
	if wt.registration.revoked.Load() != nil {
		return nil // deliver says why
	}
	wt.counters.setBlockedSince(time.Now()) // until it is taken
	wt.add(batch)
	if batch.Synced && wt.bookmarks {
		wt.bookmark(batch.Through, true)
	}
	err := wt.stream.flush()
	wt.counters.setBlockedSince(time.Time{})
	wt.counters.countSent(batch, wt.stream.takeSent())
	if err == nil && wt.counters.timed() {
		wt.counters.recordDelivered(&wt.service.stats.delays, time.Now())
	}
	return err
}

// add adds the frames of a batch.
func (wt *session) add(batch watchcache.Batch) {
	for i, change := range batch.Changes {
		if i > 0 && change.Revision != batch.Changes[i-1].Revision {
			wt.stream.flushIfLarge()
		}
		last := lastOfRevision(batch, i)
		wt.stream.add(func(dst []byte) []byte { return wt.encoder.event(dst, change, last) })
	}
}

func (wt *session) bookmark(through etcdstore.Revision, end bool) {
	wt.stream.add(func(dst []byte) []byte { return wt.encoder.bookmark(dst, through, end) })
	wt.lastBookmark = through
}

// nextBookmark is when run has to look up from waiting: at the next bookmark, or at the end.
func (wt *session) nextBookmark() time.Time {
	if !wt.bookmarks {
		return wt.deadline
	}
	now := time.Now()
	next := now.Add(wt.bookmarkEvery)
	if before := wt.deadline.Add(-bookmarkBefore); before.After(now) && before.Before(next) {
		next = before
	}
	if wt.deadline.Before(next) {
		return wt.deadline
	}
	return next
}

// wantsBookmark tells whether there is something to say: the last one of a watch is left out when it would say nothing new. None
// says that a client has all of the revision at which it resumes while a part of it may still have to come.
func (wt *session) wantsBookmark(through etcdstore.Revision, last bool) bool {
	return wt.bookmarks && through > 0 && !(last && through == wt.lastBookmark) && !wt.watcher.Resuming()
}

// catchUp writes what is ready, and a bookmark that says how far the client is now. What was acknowledged before comes first. With last
// the client gets all of that, and of its initial state, if it is to be had soon.
func (wt *session) catchUp(last bool) error {
	if wt.bookmarks || last {
		through, _ := wt.cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
		if last {
			if err := wt.deliverUntil(through); err != nil {
				return err
			}
		}
	}
	batch, err := wt.watcher.Poll()
	if err != nil {
		return nil //nolint:nilerr // Next returns the same error, and deliver writes it; a watch that ends needs none
	}
	if err := wt.write(batch); err != nil {
		return err
	}
	if !batch.Synced && wt.wantsBookmark(batch.Through, last) {
		wt.bookmark(batch.Through, false)
	}
	return wt.stream.flush()
}

// deliverUntil writes the rest of the initial state, and what comes after it up to a revision that the cache has.
func (wt *session) deliverUntil(through etcdstore.Revision) error {
	ctx, cancel := context.WithTimeout(context.Background(), initialEventsTimeout) //nolint:forbidigo // the watch's own time is over
	defer cancel()
	for wt.watcher.Beginning() || wt.watcher.Through() < through {
		batch, wake, err := wt.watcher.Try(ctx)
		if wake != nil || err != nil {
			return nil // it ends anyway
		}
		if err := wt.write(batch); err != nil {
			return err
		}
	}
	return nil
}

// lastOfRevision tells whether nothing of the revision of a change follows. False within the state that a watch begins with: a
// client cannot resume there.
func lastOfRevision(batch watchcache.Batch, i int) bool {
	if batch.Through == 0 || batch.Synced {
		return false
	}
	return i == len(batch.Changes)-1 || batch.Changes[i].Revision != batch.Changes[i+1].Revision
}
