package watch

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache"
)

const (
	// BookmarkPeriod is the time between two bookmarks of a watch of the Kubernetes API. It is shorter than the idle timeouts of proxies,
	// because by default these close a silent connection after a minute (nginx, many clouds) or after 50 s (HAProxy in Debian).
	BookmarkPeriod = 45 * time.Second
	// bookmarkBefore is the time between the last regular bookmark of a watch and its deadline.
	bookmarkBefore = 2 * time.Second
	// HeartbeatInterval is the time between two bookmarks of a watch of the keys API, and of an event stream.
	HeartbeatInterval = 15 * time.Second
	// headerDelay is how long the header of the response waits at most for the snapshot of the initial events.
	// A client that writes as soon as it has the header then gets its write as an event, because the snapshot is older than the write.
	headerDelay = 200 * time.Millisecond
	// InitialEventsTimeout is how long a watch may run past its deadline, or past the start of a drain, to finish its initial events and
	// the events that are due.
	InitialEventsTimeout = 2 * time.Second
)

// runBlocking serves the session on the caller's goroutine until the session ends or an event loop adopts it. Over HTTP/2 it also waits
// until the loop has finished the session. After an error the caller must make sure that the client sees a broken stream.
func (s *Session) runBlocking(ctx context.Context) error {
	interval := &bookmarkInterval{parent: ctx}
	wake, err := s.advance(interval)
	return s.wait(interval, wake, err)
}

// wait is runBlocking after a first advance, whose results it gets. It waits on a single channel in a shallow stack frame, because a select
// would need a larger stack.
func (s *Session) wait(interval *bookmarkInterval, wake <-chan struct{}, err error) error {
	for wake != nil {
		<-wake
		wake, err = s.advance(interval)
	}
	return err
}

// advance writes the frames that are due, and returns the channel that gets a value, or is closed, when advance is worth another call. A nil
// wake means that the goroutine is done with the session: the watch has ended, with err, or a loop has adopted it over HTTP/1.1. A panic
// ends the watch with status.ErrInternal.
func (s *Session) advance(interval *bookmarkInterval) (wake <-chan struct{}, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			response.LogPanic(s.service.Logger, reason, "path", s.Counters.Path)
			wake, err = nil, status.ErrInternal
			interval.end()
			s.Close(err)
		}
	}()
	if s.Handover != nil {
		if s.Handover.ended {
			return nil, s.Handover.err
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
		err = s.Stream.End()
	}
	s.Close(err)
	return nil, err
}

// adopted returns the channel that the loop closes when it is done with the session; nil over HTTP/1.1, where no handler waits for the loop.
func (s *Session) adopted(interval *bookmarkInterval) <-chan struct{} {
	if s.Handover == nil {
		return nil
	}
	interval.parent = nil // it has ended; frees its memory
	return s.Handover.done
}

// run writes the events and bookmarks that are due, and returns the channel to wait for. A nil wake means that the deadline, the client,
// the server or an ERROR frame has ended the watch, or, with errAdopted, that a loop has adopted it. Any other error is one of the
// connection.
func (s *Session) run(interval *bookmarkInterval) (wake <-chan struct{}, err error) {
	ctx := interval.parent
	for {
		if interval.ctx == nil {
			if s.tryAdopt() { // before begin, because an adopted watch needs no timer
				return nil, errAdopted
			}
			interval.begin(ctx, s.NextBookmark(), s.Watcher.WakeChan())
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
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), status.ErrDraining):
			return nil, nil // the client has disconnected
		}
		last := ctx.Err() != nil || s.Expired(time.Now())
		if err := s.catchUp(last); err != nil || last {
			return nil, err
		}
	}
}

// deliver writes the events of the watcher, and returns the channel to wait for. A nil wake means that ctx has ended or, with ended, that
// the watch has: deliver has written an ERROR frame if one is due, a write has failed, or, with errAdopted, a loop has adopted the watch.
func (s *Session) deliver(ctx context.Context) (wake <-chan struct{}, ended bool, err error) {
	for {
		if !s.Watcher.CaughtUp() {
			s.Stream.DetectClose()
			s.Watcher.Begin(ctx)
		}
		if s.tryAdopt() {
			return nil, true, errAdopted
		}
		s.Stream.DetectClose()
		batch, wake, err := s.Watcher.Try(ctx)
		if why := s.Registration.revoked.Load(); why != nil {
			return nil, true, s.Stream.Write(s.ErrorFrame(*why))
		}
		switch {
		case ctx.Err() != nil && (err != nil || wake != nil):
			return nil, false, nil //nolint:nilerr // run finds the reason in the context
		case wake != nil:
			return wake, false, nil
		case err == nil:
			if err := s.write(batch); err != nil {
				return nil, true, err
			}
		default:
			return nil, true, s.Stream.Write(s.ErrorFrame(err))
		}
	}
}

// write writes the frames of a batch, flushes them and counts them. It blocks while the client takes no data, for Opener.WriteTimeout at
// most. It writes nothing if the right to the watch was revoked.
func (s *Session) write(batch watchcache.Batch) error {
	if s.Registration.revoked.Load() != nil {
		return nil // deliver writes the ERROR frame
	}
	s.Counters.SetBlockedSince(time.Now()) // until Flush returns
	s.add(batch)
	if batch.Synced && s.Bookmarks {
		s.lastBookmark = batch.Through
		s.Stream.Add(func(dst []byte) []byte { return s.Encoder.Bookmark(dst, batch.Through, true) })
	}
	err := s.Stream.Flush()
	s.Counters.SetBlockedSince(time.Time{})
	s.Counters.CountSent(batch, s.Stream.TakeSent())
	if err == nil && s.Counters.Timed() {
		s.Counters.RecordDelivered(&s.service.Stats.delays, time.Now())
	}
	return err
}

// add adds the frames of a batch to the stream. It calls FlushIfLarge only between two revisions, because a client cannot resume inside of one.
func (s *Session) add(batch watchcache.Batch) {
	for i, change := range batch.Changes {
		if i > 0 && change.Revision != batch.Changes[i-1].Revision {
			s.Stream.FlushIfLarge()
		}
		last := LastOfRevision(batch, i)
		s.Stream.Add(func(dst []byte) []byte { return s.Encoder.Event(dst, change, last) })
	}
}

// NextBookmark returns the time of the next bookmark, or the deadline if that is earlier or the client wants no bookmarks. One bookmark is due
// shortly before the deadline.
func (s *Session) NextBookmark() time.Time {
	if !s.Bookmarks {
		return s.deadline
	}
	now := time.Now()
	next := now.Add(s.BookmarkEvery)
	if before := s.deadline.Add(-bookmarkBefore); before.After(now) && before.Before(next) {
		next = before
	}
	if s.deadline.Before(next) {
		return s.deadline
	}
	return next
}

// Bookmark returns the frame that reports up to which revision the client has every event; nil: there is no frame to send. That is the case
// if the client wants no bookmarks, if it has not got all initial events, if the last bookmark (last) would repeat the one before, and if a
// resuming client may still miss a part of the revision.
func (s *Session) Bookmark(last bool) []byte {
	through := s.Watcher.Through()
	if !s.Bookmarks || through == 0 || last && through == s.lastBookmark || s.Watcher.Resuming() {
		return nil
	}
	s.lastBookmark = through
	return s.Encoder.Bookmark(nil, through, false)
}

// ErrorFrame returns the frame that ends the watch with an error, and records its code. It returns nil for watchcache.ErrStopped, because the
// client has lost nothing and can resume.
func (s *Session) ErrorFrame(err error) []byte {
	if errors.Is(err, watchcache.ErrStopped) {
		return nil
	}
	return s.Encoder.ErrorEvent(nil, s.Counters.recordError(err))
}

// catchUp writes the events that are ready, and a bookmark up to them. It waits for Cache.Refresh first, because a bookmark must not precede
// a write that was acknowledged before it. With last it writes all events up to that revision, the rest of the initial events included, if
// they arrive within InitialEventsTimeout.
func (s *Session) catchUp(last bool) error {
	if s.Bookmarks || last {
		through, _ := s.Cache.Refresh(context.Background()) //nolint:forbidigo // takes a second at most; the context of the watch may have ended
		if last {
			if err := s.deliverUntil(through); err != nil {
				return err
			}
		}
	}
	batch, err := s.Watcher.Poll()
	if err != nil {
		return nil //nolint:nilerr // Try returns the same error to deliver, which writes it; the end of a watch needs no ERROR
	}
	if err := s.write(batch); err != nil {
		return err
	}
	if batch.Synced {
		return nil // write has written a bookmark
	}
	return s.Stream.Write(s.Bookmark(last))
}

// deliverUntil writes the rest of the initial events, and the events after them up to a revision that the cache holds. It returns nil and
// stops early if the events are not ready within InitialEventsTimeout. The error is one of the connection.
func (s *Session) deliverUntil(through etcdstore.Revision) error {
	ctx, cancel := context.WithTimeout(context.Background(), InitialEventsTimeout) //nolint:forbidigo // the context of the watch has ended
	defer cancel()
	for s.Watcher.Beginning() || s.Watcher.Through() < through {
		batch, wake, err := s.Watcher.Try(ctx)
		if wake != nil || err != nil {
			return nil // the watch ends in any case
		}
		if err := s.write(batch); err != nil {
			return err
		}
	}
	return nil
}

// LastOfRevision reports whether change i of a batch is the last one of its revision. It is false for initial events, because a client cannot
// resume inside of them.
func LastOfRevision(batch watchcache.Batch, i int) bool {
	if batch.Through == 0 || batch.Synced {
		return false
	}
	return i == len(batch.Changes)-1 || batch.Changes[i].Revision != batch.Changes[i+1].Revision
}
