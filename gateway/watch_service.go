package gateway

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"revtail/gateway/netio/http2"
	"revtail/gateway/watchcache"
)

// watchService opens watches and serves them.
type watchService struct {
	opener    *streamOpener
	adopter   adopter                           // nil: every watch is served on its goroutine
	http2     func(*http.Request) *http2.Stream // of a request, to be taken; nil: net/http writes HTTP/2
	registry  registry
	stats     stats
	access    *control
	responder *responder
	logger    *slog.Logger
	opened    func(*http.Request) // called when the head of the answer has been sent
}

// adopter serves watches without a goroutine of their own.
type adopter interface {
	// adopt serves a session from now on, over a handle that nobody else uses. False: both stay the caller's.
	adopt(s *session, h handle) bool
}

// loop is where an adopted session is served. Its methods may be called by any goroutine.
type loop interface {
	// end ends the session with everything that is due, and a last bookmark.
	end()
	// refuse ends it with an ERROR frame.
	refuse(why error)
	// abort ends it at once.
	abort()
}

// watchStart is what there is to know of a watch before it begins.
type watchStart struct {
	resource      string // for operators
	cache         *watchcache.Cache
	query         watchcache.WatchQuery
	encoder       encoder
	bookmarks     bool          // the client is told how far it is
	bookmarkEvery time.Duration // how often
	deadline      time.Time
	fail          errorHandler
	done          func() // called when the watch has ended, or has not begun
}

// follow opens the watch and serves it.
func (s *watchService) follow(w http.ResponseWriter, r *http.Request, start watchStart) {
	entry, ctx, err := s.registry.add(r.Context(), callerOf(r))
	if err != nil {
		start.done()
		start.fail(w, r, err)
		return
	}
	if err := s.access.judgeAgain(callerOf(r)); err != nil {
		start.done()
		entry.done()
		start.fail(w, r, err)
		return
	}
	watcher, err := start.cache.Watch(start.query)
	if err != nil {
		start.done()
		entry.done()
		start.fail(w, r, err)
		return
	}
	opened := &session{
		service: s, cache: start.cache, watcher: watcher, encoder: start.encoder, bookmarks: start.bookmarks, bookmarkEvery: start.bookmarkEvery,
		deadline: start.deadline, registration: entry, done: start.done,
		counters: s.stats.add(r, start.cache, start.resource),
	}
	opened.serve(ctx, w, r)
}

// minWatch: a watch without timeoutSeconds lasts once to twice as long, at random, so that clients that came together do not come back
// together.
const minWatch = 30 * time.Minute

// deadlineAfter is when a watch has to end; zero: the client has not said.
func deadlineAfter(timeout time.Duration) time.Time {
	if timeout == 0 {
		timeout = minWatch + rand.N(minWatch)
	}
	return time.Now().Add(timeout)
}
