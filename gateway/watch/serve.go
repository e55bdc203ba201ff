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
	// BookmarkPeriod is how often a client is told how far its watch is complete, and bookmarkBefore how long before the end. Proxies
	// cut what is silent for a minute (nginx, many clouds), or for 50 s (HAProxy as Debian has it), if nobody tells them otherwise.
	BookmarkPeriod = 45 * time.Second
	bookmarkBefore = 2 * time.Second
	// HeartbeatInterval is how often a client of the plain dialect, or of an event stream, is told how far its watch is complete.
	HeartbeatInterval = 15 * time.Second
	// headerDelay is how long the head of the answer waits for the state to be fixed. A client that writes as soon as it sees
	// the head then sees its write as an event, and not merged into the state.
	headerDelay = 200 * time.Millisecond
	// InitialEventsTimeout is how long a watch may run past its deadline to finish its initial events, or what is due besides.
	InitialEventsTimeout = 2 * time.Second
)

// runBlocking serves the session on the caller's goroutine until it ends or is adopted; over HTTP/2 it then waits for the end of that. After
// an error the client must see that the stream is broken.
func (s *Session) runBlocking(ctx context.Context) error {
	interval := &bookmarkInterval{parent: ctx}
	wake, err := s.advance(interval)
	return s.wait(interval, wake, err)
}

// wait is runBlocking after a first advance. It waits on a single channel at a shallow frame, because a select would need a larger stack.
func (s *Session) wait(interval *bookmarkInterval, wake <-chan struct{}, err error) error {
	for wake != nil {
		<-wake
		wake, err = s.advance(interval)
	}
	return err
}

// advance does what there is to do. When wake has something, there may be more; nil: the watch has ended.
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

// adopted returns what is closed when the loop is done with the session; nil over HTTP/1.1, where nothing waits for that.
func (s *Session) adopted(interval *bookmarkInterval) <-chan struct{} {
	if s.Handover == nil {
		return nil
	}
	interval.parent = nil // it has ended, and need not be held
	return s.Handover.done
}

// run writes what there is, and returns what to wait for; nil: the deadline, the client or the server has ended the
// watch, or it is adopted. Its error is one of the connection, or errAdopted.
func (s *Session) run(interval *bookmarkInterval) (wake <-chan struct{}, err error) {
	ctx := interval.parent
	for {
		if interval.ctx == nil {
			if s.tryAdopt() { // before an interval begins: most watches need none
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
			return nil, nil // the client has gone
		}
		last := ctx.Err() != nil || s.Expired(time.Now())
		if err := s.catchUp(last); err != nil || last {
			return nil, err
		}
	}
}

// deliver writes what the cursor has, and returns what to wait for; nil: ctx has ended or, with ended, the watch is over, after an
// ERROR frame where one is due.
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
			return nil, false, nil //nolint:nilerr // the stream is over, and whoever waits for ctx says why
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

func (s *Session) write(batch watchcache.Batch) error {
	if s.Registration.revoked.Load() != nil {
		return nil // deliver says why
	}
	s.Counters.SetBlockedSince(time.Now()) // until it is taken
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

// add adds the frames of a batch.
func (s *Session) add(batch watchcache.Batch) {
	for i, change := range batch.Changes {
		if i > 0 && change.Revision != batch.Changes[i-1].Revision {
			s.Stream.FlushIfLarge()
		}
		last := LastOfRevision(batch, i)
		s.Stream.Add(func(dst []byte) []byte { return s.Encoder.Event(dst, change, last) })
	}
}

// NextBookmark is when run has to look up from waiting: at the next bookmark, or at the end.
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

// Bookmark returns the frame that reports up to which revision the client has everything; nil: it would report nothing new at the end, or
// a revision of which a resuming client may still miss a part.
func (s *Session) Bookmark(last bool) []byte {
	through := s.Watcher.Through()
	if !s.Bookmarks || through == 0 || last && through == s.lastBookmark || s.Watcher.Resuming() {
		return nil
	}
	s.lastBookmark = through
	return s.Encoder.Bookmark(nil, through, false)
}

// ErrorFrame returns the frame that ends the watch with an error; nil: the watch ends without one, because nothing is lost.
func (s *Session) ErrorFrame(err error) []byte {
	if errors.Is(err, watchcache.ErrStopped) {
		return nil
	}
	return s.Encoder.ErrorEvent(nil, s.Counters.RecordError(err))
}

// catchUp writes what is ready, and a bookmark that says how far the client is now. What was acknowledged before comes first. With last
// the client gets all of that, and of its initial state, if it is to be had soon.
func (s *Session) catchUp(last bool) error {
	if s.Bookmarks || last {
		through, _ := s.Cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
		if last {
			if err := s.deliverUntil(through); err != nil {
				return err
			}
		}
	}
	batch, err := s.Watcher.Poll()
	if err != nil {
		return nil //nolint:nilerr // Next returns the same error, and deliver writes it; a watch that ends needs none
	}
	if err := s.write(batch); err != nil {
		return err
	}
	if batch.Synced {
		return nil // with a bookmark
	}
	return s.Stream.Write(s.Bookmark(last))
}

// deliverUntil writes the rest of the initial state, and what comes after it up to a revision that the cache has.
func (s *Session) deliverUntil(through etcdstore.Revision) error {
	ctx, cancel := context.WithTimeout(context.Background(), InitialEventsTimeout) //nolint:forbidigo // the watch's own time is over
	defer cancel()
	for s.Watcher.Beginning() || s.Watcher.Through() < through {
		batch, wake, err := s.Watcher.Try(ctx)
		if wake != nil || err != nil {
			return nil // it ends anyway
		}
		if err := s.write(batch); err != nil {
			return err
		}
	}
	return nil
}

// LastOfRevision reports whether a change is the last one of its revision. It is false within the initial events, because a client cannot
// resume there.
func LastOfRevision(batch watchcache.Batch, i int) bool {
	if batch.Through == 0 || batch.Synced {
		return false
	}
	return i == len(batch.Changes)-1 || batch.Changes[i].Revision != batch.Changes[i+1].Revision
}
