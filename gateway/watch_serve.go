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
	// initialEventsTimeout is how long a watch may run past its deadline to finish its initial events, or what is due besides.
	initialEventsTimeout = 2 * time.Second
)

// runBlocking serves the session on the caller's goroutine until it ends or is adopted; over HTTP/2 it then waits for the end of that. After
// an error the client must see that the stream is broken.
func (s *session) runBlocking(ctx context.Context) error {
	interval := &bookmarkInterval{parent: ctx}
	wake, err := s.advance(interval)
	return s.wait(interval, wake, err)
}

// wait is runBlocking after a first advance. It waits on a single channel at a shallow frame, because a select would need a larger stack.
func (s *session) wait(interval *bookmarkInterval, wake <-chan struct{}, err error) error {
	for wake != nil {
		<-wake
		wake, err = s.advance(interval)
	}
	return err
}

// advance does what there is to do. When wake has something, there may be more; nil: the watch has ended.
func (s *session) advance(interval *bookmarkInterval) (wake <-chan struct{}, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			logPanic(s.service.logger, reason, "path", s.counters.path)
			wake, err = nil, errInternal
			interval.end()
			s.close(err)
		}
	}()
	if s.handover != nil {
		if s.handover.ended {
			return nil, s.handover.err
		}
		s.resumeHTTP2(interval)
	}
	if wake, err = s.run(interval); wake != nil {
		return wake, nil
	}
	if errors.Is(err, errAdopted) {
		return s.adopted(interval), nil
	}
	if err == nil {
		err = s.stream.end()
	}
	s.close(err)
	return nil, err
}

// adopted returns what is closed when the loop is done with the session; nil over HTTP/1.1, where nothing waits for that.
func (s *session) adopted(interval *bookmarkInterval) <-chan struct{} {
	if s.handover == nil {
		return nil
	}
	interval.parent = nil // it has ended, and need not be held
	return s.handover.done
}

// run writes what there is, and returns what to wait for; nil: the deadline, the client or the server has ended the
// watch, or it is adopted. Its error is one of the connection, or errAdopted.
func (s *session) run(interval *bookmarkInterval) (wake <-chan struct{}, err error) {
	ctx := interval.parent
	for {
		if interval.ctx == nil {
			if s.tryAdopt() { // before an interval begins: most watches need none
				return nil, errAdopted
			}
			interval.begin(ctx, s.nextBookmark(), s.watcher.WakeChan())
		}
		wake, ended, err := s.deliver(interval.ctx)
		if wake != nil {
			return wake, nil
		}
		interval.end()
		switch {
		case err != nil:
			return nil, err
		case ended:
			return nil, nil
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDraining):
			return nil, nil // the client has gone
		}
		last := ctx.Err() != nil || s.expired(time.Now())
		if err := s.catchUp(last); err != nil || last {
			return nil, err
		}
	}
}

// deliver writes what the cursor has, and returns what to wait for; nil: ctx has ended or, with ended, the watch is over, after an
// ERROR frame where one is due.
func (s *session) deliver(ctx context.Context) (wake <-chan struct{}, ended bool, err error) {
	for {
		if !s.watcher.CaughtUp() {
			s.stream.detectClose()
			s.watcher.Begin(ctx)
		}
		if s.tryAdopt() {
			return nil, true, errAdopted
		}
		s.stream.detectClose()
		batch, wake, err := s.watcher.Try(ctx)
		if why := s.registration.revoked.Load(); why != nil {
			return nil, true, s.stream.write(s.encoder.errorEvent(nil, *why))
		}
		switch {
		case ctx.Err() != nil && (err != nil || wake != nil):
			return nil, false, nil //nolint:nilerr // the stream is over, and whoever waits for ctx says why
		case wake != nil:
			return wake, false, nil
		case err == nil:
			if err := s.write(batch); err != nil {
				return nil, true, err
			}
		case errors.Is(err, watchcache.ErrStopped):
			return nil, true, nil
		default:
			return nil, true, s.stream.write(s.encoder.errorEvent(nil, s.counters.recordError(err)))
		}
	}
}

func (s *session) write(batch watchcache.Batch) error {
	if s.registration.revoked.Load() != nil {
		return nil // deliver says why
	}
	s.counters.setBlockedSince(time.Now()) // until it is taken
	s.add(batch)
	if batch.Synced && s.bookmarks {
		s.bookmark(batch.Through, true)
	}
	err := s.stream.flush()
	s.counters.setBlockedSince(time.Time{})
	s.counters.countSent(batch, s.stream.takeSent())
	if err == nil && s.counters.timed() {
		s.counters.recordDelivered(&s.service.stats.delays, time.Now())
	}
	return err
}

// add adds the frames of a batch.
func (s *session) add(batch watchcache.Batch) {
	for i, change := range batch.Changes {
		if i > 0 && change.Revision != batch.Changes[i-1].Revision {
			s.stream.flushIfLarge()
		}
		last := lastOfRevision(batch, i)
		s.stream.add(func(dst []byte) []byte { return s.encoder.event(dst, change, last) })
	}
}

func (s *session) bookmark(through etcdstore.Revision, end bool) {
	s.stream.add(func(dst []byte) []byte { return s.encoder.bookmark(dst, through, end) })
	s.lastBookmark = through
}

// nextBookmark is when run has to look up from waiting: at the next bookmark, or at the end.
func (s *session) nextBookmark() time.Time {
	if !s.bookmarks {
		return s.deadline
	}
	now := time.Now()
	next := now.Add(s.bookmarkEvery)
	if before := s.deadline.Add(-bookmarkBefore); before.After(now) && before.Before(next) {
		next = before
	}
	if s.deadline.Before(next) {
		return s.deadline
	}
	return next
}

// wantsBookmark tells whether there is something to say: the last one of a watch is left out when it would say nothing new. None
// says that a client has all of the revision at which it resumes while a part of it may still have to come.
func (s *session) wantsBookmark(through etcdstore.Revision, last bool) bool {
	return s.bookmarks && through > 0 && !(last && through == s.lastBookmark) && !s.watcher.Resuming()
}

// catchUp writes what is ready, and a bookmark that says how far the client is now. What was acknowledged before comes first. With last
// the client gets all of that, and of its initial state, if it is to be had soon.
func (s *session) catchUp(last bool) error {
	if s.bookmarks || last {
		through, _ := s.cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
		if last {
			if err := s.deliverUntil(through); err != nil {
				return err
			}
		}
	}
	batch, err := s.watcher.Poll()
	if err != nil {
		return nil //nolint:nilerr // Next returns the same error, and deliver writes it; a watch that ends needs none
	}
	if err := s.write(batch); err != nil {
		return err
	}
	if !batch.Synced && s.wantsBookmark(batch.Through, last) {
		s.bookmark(batch.Through, false)
	}
	return s.stream.flush()
}

// deliverUntil writes the rest of the initial state, and what comes after it up to a revision that the cache has.
func (s *session) deliverUntil(through etcdstore.Revision) error {
	ctx, cancel := context.WithTimeout(context.Background(), initialEventsTimeout) //nolint:forbidigo // the watch's own time is over
	defer cancel()
	for s.watcher.Beginning() || s.watcher.Through() < through {
		batch, wake, err := s.watcher.Try(ctx)
		if wake != nil || err != nil {
			return nil // it ends anyway
		}
		if err := s.write(batch); err != nil {
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
