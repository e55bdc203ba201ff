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

// serve is the watch's time on the goroutine of its request.
func (wt *session) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	begin(ctx, wt.watcher, headerDelay)
	wt.stream = wt.service.opener.newStream(w, r)
	wt.stream.contentType = wt.encoder.contentType()
	ctx, err := wt.stream.open(ctx)
	if err != nil || isHead(r) {
		wt.close(nil) // there is nobody to tell
		return
	}
	wt.registration.setConn(wt.stream.aborter())
	wt.requestLog = requestLogOf(r)
	wt.requestLog.keep()
	wt.service.opened(r)
	_ = wt.stream.write(wt.encoder.preamble()) // kept in the stream
	if tail := deferredOf(w); tail != nil {
		tail.session, tail.interval = wt, &bookmarkInterval{parent: ctx}
		return
	}
	if err := wt.runBlocking(ctx); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a clean end
	}
}

func begin(ctx context.Context, watcher *watchcache.Watcher, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watcher.Begin(ctx)
}

// session is one open watch.
type session struct {
	service       *watchService
	cache         *watchcache.Cache
	watcher       *watchcache.Watcher
	encoder       encoder
	stream        *stream   // nil: a loop serves the watch
	handover      *handover // of HTTP/2: the handler waits for its end; nil: there is none
	refused       bool      // by the adopter
	bookmarks     bool
	bookmarkEvery time.Duration // between two of them
	deadline      time.Time
	lastBookmark  etcdstore.Revision // of the last bookmark

	registration *registration
	requestLog   *requestLog // nil until the stream is open: a request that gets none is written down as any other
	counters     *counters
	done         func() // called at the end
}

// errAdopted ends a watch's time on a goroutine: a writer has it now.
var errAdopted = errors.New("adopted by a writer")

// resumeHTTP2 goes on with a watch that a writer has given back to its handler.
func (wt *session) resumeHTTP2(turn *bookmarkInterval) {
	turn.parent = wt.registration.resume(wt.handover.ctx)
	wt.stream = wt.service.opener.resumeHTTP2(wt.handover.ctx, wt.handover.stream)
	wt.registration.setConn(wt.stream.aborter())
	wt.handover = nil
}

// resume is live for a watch that a writer has given back with its connection.
func (wt *session) resume(ctx context.Context, conn net.Conn) {
	wt.stream, ctx = wt.service.opener.resumeConn(wt.registration.resume(ctx), conn)
	wt.registration.setConn(wt.stream.aborter())
	_ = wt.runBlocking(ctx) // the connection tells the client
}

// close frees what the watch holds. err says why it broke; nil: it ended well.
func (wt *session) close(err error) {
	if err != nil {
		wt.service.logger.Debug("watch broken", "path", wt.counters.path, "error", err)
	}
	if wt.stream != nil {
		wt.stream.close()
	}
	wt.watcher.Close()
	wt.service.stats.remove(wt.counters, wt.endReason(err))
	if why := wt.registration.revoked.Load(); why != nil {
		wt.requestLog.cutOff(*why)
	}
	wt.done()
	wt.requestLog.end()
	wt.registration.done()
}

// tryAdopt gives the watch to the adopter, if the log is all that it follows.
func (wt *session) tryAdopt() bool {
	if wt.service.adopter == nil || wt.refused || !wt.watcher.Follows() {
		return false
	}
	h, ok := wt.stream.detach()
	if !ok {
		return false
	}
	if h.stream != nil {
		wt.handover = &handover{stream: h.stream, ctx: h.ctx, done: make(chan struct{})}
	}
	if wt.service.adopter.adopt(wt, h) {
		return true // and the watch is no longer ours
	}
	wt.refused, wt.handover = true, nil
	return false
}

// expired tells whether the watch's time is over.
func (wt *session) expired(now time.Time) bool { return !now.Before(wt.deadline) }

// endReason is why the watch ends, in a few words that are labels of a metric.
func (wt *session) endReason(err error) string {
	switch code := wt.counters.errorCode.Load(); {
	case errors.Is(err, socket.ErrStalled):
		return endedStalled
	case errors.Is(err, socket.ErrPeerGone):
		return endedClient
	case errors.Is(err, errDraining), err == nil && wt.service.registry.shuttingDown():
		return endedShutdown
	case wt.registration.revoked.Load() != nil:
		return endedRevoked
	case err != nil:
		return endedBroken
	case code == http.StatusGone:
		return endedExpired
	case code != 0:
		return endedError
	case wt.expired(time.Now()):
		return endedTimeout
	}
	return endedClient
}
