package watch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/access/cputime"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
)

// serve sends the header of the response and serves the session on the goroutine of its request.
func (s *Session) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	Begin(ctx, s.Watcher, headerDelay)
	s.Stream = s.service.Opener.NewStream(w, r)
	s.Stream.ContentType, s.Stream.Account = s.Encoder.ContentType(), s.Account
	ctx, err := s.Stream.Open(ctx)
	if err != nil || request.IsHead(r) {
		s.Close(nil) // the client has disconnected, or wants no body
		return
	}
	s.Registration.setConn(s.Stream.Aborter())
	s.requestLog = access.RequestLogOf(r)
	s.requestLog.Detach()
	s.service.Opened(r)
	_ = s.Stream.Write(s.Encoder.Preamble()) // the stream returns its error again
	if err := s.run(ctx); err != nil {
		panic(http.ErrAbortHandler) // net/http breaks the response: the client must not see a clean end
	}
}

// Begin waits until the watcher has taken the snapshot of its initial events, but not longer than atMost. Errors are returned by the next call
// of Watcher.Next.
func Begin(ctx context.Context, watcher *watchcache.Watcher, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	watcher.Begin(ctx)
}

// Session is one open watch. Either one goroutine or one event loop uses it at any time.
type Session struct {
	service       *Service
	Cache         *watchcache.Cache   // of Watcher
	Watcher       *watchcache.Watcher // closed by Close
	Encoder       Encoder             // encodes all frames
	Stream        *transport.Stream   // nil: an event loop serves the session
	refused       bool                // the adopter has refused the session
	Bookmarks     bool                // the client wants bookmarks
	BookmarkEvery time.Duration       // time between two bookmarks
	deadline      time.Time           // end of the watch
	lastBookmark  etcdstore.Revision  // zero: no bookmark was sent

	Account *cputime.Account // pays for what the client has chosen; released by Close
	Passes  int              // of Encoder

	Registration *registration      // removed from the registry by Close
	requestLog   *access.RequestLog // nil until the stream is open, because access.Control.Log logs a request without a stream
	Counters     *Counters          // of sent frames
	done         func()             // Start.Done
}

// Resume serves a session that the event loop has released together with its connection or stream. It returns when the session has ended or a
// loop has adopted it again.
func (s *Session) Resume(ctx context.Context, h transport.Handle) {
	s.Stream, ctx = s.service.Opener.Resume(s.Registration.resume(ctx), h)
	s.Registration.setConn(s.Stream.Aborter())
	_ = s.run(ctx) // Close has broken the stream
}

// Close closes the stream and the watcher of the session, counts the end, logs it, and removes the session from the registry. err is the reason
// for which the stream broke; nil: the stream has ended cleanly, or was not opened. The goroutine or loop that serves the session calls it once.
func (s *Session) Close(err error) {
	if err != nil {
		s.service.Logger.Debug("watch broken", "path", s.Counters.Path, "error", err)
	}
	if s.Stream != nil {
		s.Stream.Close()
	}
	s.Watcher.Close()
	s.Account.Release()
	s.service.Stats.remove(s.Counters, s.endReason(err))
	if why := s.Registration.revoked.Load(); why != nil {
		s.requestLog.SetError(*why)
	}
	s.done()
	s.requestLog.End()
	s.Registration.Done()
}

// tryAdopt offers the session to the adopter, and reports whether an event loop has adopted it. It does nothing unless the watcher only
// follows the log, and nothing after a refusal.
func (s *Session) tryAdopt() bool {
	if s.service.Adopter == nil || s.refused || !s.Watcher.CaughtUp() {
		return false
	}
	h, ok := s.Stream.Detach()
	if !ok {
		return false
	}
	if s.service.Adopter.Adopt(s, h) {
		return true // the session belongs to the loop
	}
	s.refused = true
	return false
}

// Expired reports whether the watch has reached its deadline at a time.
func (s *Session) Expired(now time.Time) bool { return !now.Before(s.deadline) }

// endReason returns the reason for which the watch ends with err, as one of endings.
func (s *Session) endReason(err error) string {
	switch code := s.Counters.errorCode.Load(); {
	case errors.Is(err, socket.ErrStalled):
		return endedStalled
	case errors.Is(err, socket.ErrPeerGone):
		return endedClient
	case errors.Is(err, status.ErrDraining), err == nil && s.service.Registry.ShuttingDown():
		return endedShutdown
	case s.Registration.revoked.Load() != nil:
		return endedRevoked
	case err != nil:
		return endedBroken
	case code == http.StatusGone:
		return endedExpired
	case code != 0:
		return endedError
	case s.Expired(time.Now()):
		return endedTimeout
	}
	return endedClient
}
