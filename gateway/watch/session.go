package watch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
)

// serve serves the session on the goroutine of its request.
func (s *Session) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	Begin(ctx, s.Watcher, headerDelay)
	s.Stream = s.service.Opener.NewStream(w, r)
	s.Stream.ContentType = s.Encoder.ContentType()
	ctx, err := s.Stream.Open(ctx)
	if err != nil || request.IsHead(r) {
		s.Close(nil) // there is no client to report it to
		return
	}
	s.Registration.setConn(s.Stream.Aborter())
	s.requestLog = access.RequestLogOf(r)
	s.requestLog.Detach()
	s.service.Opened(r)
	_ = s.Stream.Write(s.Encoder.Preamble()) // kept in the stream
	if deferred := deferredOf(w); deferred != nil {
		deferred.session, deferred.interval = s, &bookmarkInterval{parent: ctx}
		return
	}
	if err := s.runBlocking(ctx); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a clean end
	}
}

// Begin waits until the watcher has fixed its initial state, but not longer than atMost.
func Begin(ctx context.Context, watcher *watchcache.Watcher, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	watcher.Begin(ctx)
}

// Session is one open watch.
type Session struct {
	service       *Service
	Cache         *watchcache.Cache
	Watcher       *watchcache.Watcher
	Encoder       Encoder
	Stream        *transport.Stream // nil: a loop serves the session
	Handover      *Handover         // of HTTP/2: the handler waits for its end; nil: there is none
	refused       bool              // by the adopter
	Bookmarks     bool
	BookmarkEvery time.Duration // between two of them
	deadline      time.Time
	lastBookmark  etcdstore.Revision // zero: none was sent

	Registration *registration
	requestLog   *access.RequestLog // nil until the stream is open: a request that gets none is written down as any other
	Counters     *Counters
	done         func() // called at the end
}

// errAdopted ends a session's time on a goroutine.
var errAdopted = errors.New("adopted")

// resumeHTTP2 serves a session that the loop has released to its handler.
func (s *Session) resumeHTTP2(interval *bookmarkInterval) {
	interval.parent = s.Registration.resume(s.Handover.Ctx)
	s.Stream = s.service.Opener.ResumeHTTP2(s.Handover.Ctx, s.Handover.Stream)
	s.Registration.setConn(s.Stream.Aborter())
	s.Handover = nil
}

// Resume serves a session that the loop has released with its connection.
func (s *Session) Resume(ctx context.Context, conn net.Conn) {
	s.Stream, ctx = s.service.Opener.ResumeConn(s.Registration.resume(ctx), conn)
	s.Registration.setConn(s.Stream.Aborter())
	_ = s.runBlocking(ctx) // the connection tells the client
}

// Close frees what the watch holds. err says why it broke; nil: it ended well.
func (s *Session) Close(err error) {
	if err != nil {
		s.service.Logger.Debug("watch broken", "path", s.Counters.Path, "error", err)
	}
	if s.Stream != nil {
		s.Stream.Close()
	}
	s.Watcher.Close()
	s.service.Stats.remove(s.Counters, s.endReason(err))
	if why := s.Registration.revoked.Load(); why != nil {
		s.requestLog.SetError(*why)
	}
	s.done()
	s.requestLog.End()
	s.Registration.Done()
}

// tryAdopt gives the watch to the adopter, if the log is all that it follows.
func (s *Session) tryAdopt() bool {
	if s.service.Adopter == nil || s.refused || !s.Watcher.CaughtUp() {
		return false
	}
	h, ok := s.Stream.Detach()
	if !ok {
		return false
	}
	if h.Stream != nil {
		s.Handover = &Handover{Stream: h.Stream, Ctx: h.Ctx, done: make(chan struct{})}
	}
	if s.service.Adopter.Adopt(s, h) {
		return true // and the watch is no longer ours
	}
	s.refused, s.Handover = true, nil
	return false
}

// Expired reports whether the watch has reached its deadline.
func (s *Session) Expired(now time.Time) bool { return !now.Before(s.deadline) }

// endReason is why the watch ends, in a few words that are labels of a metric.
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
