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

// errAdopted is the error of follow and deliver if an event loop has adopted the session.
var errAdopted = errors.New("adopted")

// run serves the session on the caller's goroutine until the session ends or an event loop adopts it. After an error the client must see a
// broken stream. A panic ends the watch with status.ErrInternal.
func (s *Session) run(ctx context.Context) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			response.LogPanic(s.service.Logger, reason, "path", s.Counters.Path)
			err = status.ErrInternal
			s.Close(err)
		}
	}()
	if err = s.follow(ctx); errors.Is(err, errAdopted) {
		return nil
	}
	if err == nil {
		err = s.Stream.End()
	}
	s.Close(err)
	return err
}

// follow writes events and bookmarks until the deadline, the client, the server or an ERROR frame has ended the watch. The error is errAdopted,
// or one of the connection.
func (s *Session) follow(ctx context.Context) error {
	for {
		s.begin(ctx)
		if s.tryAdopt() { // before the timer of an interval, because an adopted watch needs none
			return errAdopted
		}
		interval, cancel := context.WithDeadline(ctx, s.NextBookmark())
		ended, err := s.deliver(interval)
		cancel()
		switch {
		case err != nil:
			return err
		case ended:
			return nil
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), status.ErrDraining):
			return nil // the client has disconnected
		}
		last := ctx.Err() != nil || s.Expired(time.Now())
		if err := s.catchUp(last); err != nil || last {
			return err
		}
	}
}

// begin waits until the watcher has begun, or until the deadline. No bookmark interrupts it, because the wait for a revision that etcd may not have
// would begin anew, and a watch of a few seconds would end without the error.
func (s *Session) begin(ctx context.Context) {
	if s.Watcher.CaughtUp() {
		return
	}
	s.Stream.DetectClose()
	ctx, cancel := context.WithDeadline(ctx, s.deadline)
	defer cancel()
	s.Watcher.Begin(ctx)
}

// deliver writes the events of the watcher until ctx ends. ended reports that the watch has ended, with an ERROR frame if one is due. The error
// is errAdopted, or one of the connection.
func (s *Session) deliver(ctx context.Context) (ended bool, err error) {
	for {
		if s.tryAdopt() {
			return false, errAdopted
		}
		s.Stream.DetectClose()
		batch, err := s.Watcher.Next(ctx)
		if why := s.Registration.revoked.Load(); why != nil {
			return true, s.Stream.Write(s.ErrorFrame(*why))
		}
		switch {
		case err == nil:
			if err := s.write(batch); err != nil {
				return false, err
			}
		case ctx.Err() != nil:
			return false, nil //nolint:nilerr // follow finds the reason in the context
		default:
			return true, s.Stream.Write(s.ErrorFrame(err))
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
		s.Stream.Add(func(dst []byte) []byte {
			if s.Passes > 0 {
				turn := s.Account.Turn()
				_ = turn.Continue() // the watcher has read the change: it is delivered
				defer turn.End()    // before the frame is written, because a write waits for the client
			}
			return s.Encoder.Event(dst, change, last)
		})
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
