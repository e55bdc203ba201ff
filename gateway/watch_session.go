package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

// serve serves the session on the goroutine of its request.
func (s *session) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	begin(ctx, s.watcher, headerDelay)
	s.stream = s.service.opener.newStream(w, r)
	s.stream.contentType = s.encoder.contentType()
	ctx, err := s.stream.open(ctx)
	if err != nil || isHead(r) {
		s.close(nil) // there is nobody to tell
		return
	}
	s.registration.setConn(s.stream.aborter())
	s.requestLog = requestLogOf(r)
	s.requestLog.keep()
	s.service.opened(r)
	_ = s.stream.write(s.encoder.preamble()) // kept in the stream
	if deferred := deferredOf(w); deferred != nil {
		deferred.session, deferred.interval = s, &bookmarkInterval{parent: ctx}
		return
	}
	if err := s.runBlocking(ctx); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a clean end
	}
}

func begin(ctx context.Context, watcher *watchcache.Watcher, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	watcher.Begin(ctx)
}

// session is one open watch.
type session struct {
	service       *watchService
	cache         *watchcache.Cache
	watcher       *watchcache.Watcher
	encoder       encoder
	stream        *stream   // nil: a loop serves the session
	handover      *handover // of HTTP/2: the handler waits for its end; nil: there is none
	refused       bool      // by the adopter
	bookmarks     bool
	bookmarkEvery time.Duration // between two of them
	deadline      time.Time
	lastBookmark  etcdstore.Revision // zero: none was sent

	registration *registration
	requestLog   *requestLog // nil until the stream is open: a request that gets none is written down as any other
	counters     *counters
	done         func() // called at the end
}

// errAdopted ends a session's time on a goroutine.
var errAdopted = errors.New("adopted")

// resumeHTTP2 serves a session that the loop has released to its handler.
func (s *session) resumeHTTP2(interval *bookmarkInterval) {
	interval.parent = s.registration.resume(s.handover.ctx)
	s.stream = s.service.opener.resumeHTTP2(s.handover.ctx, s.handover.stream)
	s.registration.setConn(s.stream.aborter())
	s.handover = nil
}

// resume serves a session that the loop has released with its connection.
func (s *session) resume(ctx context.Context, conn net.Conn) {
	s.stream, ctx = s.service.opener.resumeConn(s.registration.resume(ctx), conn)
	s.registration.setConn(s.stream.aborter())
	_ = s.runBlocking(ctx) // the connection tells the client
}

// close frees what the watch holds. err says why it broke; nil: it ended well.
func (s *session) close(err error) {
	if err != nil {
		s.service.logger.Debug("watch broken", "path", s.counters.path, "error", err)
	}
	if s.stream != nil {
		s.stream.close()
	}
	s.watcher.Close()
	s.service.stats.remove(s.counters, s.endReason(err))
	if why := s.registration.revoked.Load(); why != nil {
		s.requestLog.cutOff(*why)
	}
	s.done()
	s.requestLog.end()
	s.registration.done()
}

// tryAdopt gives the watch to the adopter, if the log is all that it follows.
func (s *session) tryAdopt() bool {
	if s.service.adopter == nil || s.refused || !s.watcher.CaughtUp() {
		return false
	}
	h, ok := s.stream.detach()
	if !ok {
		return false
	}
	if h.stream != nil {
		s.handover = &handover{stream: h.stream, ctx: h.ctx, done: make(chan struct{})}
	}
	if s.service.adopter.adopt(s, h) {
		return true // and the watch is no longer ours
	}
	s.refused, s.handover = true, nil
	return false
}

// expired tells whether the watch's time is over.
func (s *session) expired(now time.Time) bool { return !now.Before(s.deadline) }

// endReason is why the watch ends, in a few words that are labels of a metric.
func (s *session) endReason(err error) string {
	switch code := s.counters.errorCode.Load(); {
	case errors.Is(err, socket.ErrStalled):
		return endedStalled
	case errors.Is(err, socket.ErrPeerGone):
		return endedClient
	case errors.Is(err, errDraining), err == nil && s.service.registry.shuttingDown():
		return endedShutdown
	case s.registration.revoked.Load() != nil:
		return endedRevoked
	case err != nil:
		return endedBroken
	case code == http.StatusGone:
		return endedExpired
	case code != 0:
		return endedError
	case s.expired(time.Now()):
		return endedTimeout
	}
	return endedClient
}
