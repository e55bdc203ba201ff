package watch

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"revtail/gateway/access"
	"revtail/gateway/http/response"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
)

// Service opens watches and serves them.
type Service struct {
	Opener    *transport.Opener
	Adopter   adopter                           // nil: every watch is served on its goroutine
	HTTP2     func(*http.Request) *http2.Stream // of a request, to be taken; nil: net/http writes HTTP/2
	Registry  registry
	Stats     stats
	Access    *access.Control
	Responder *response.Responder
	Logger    *slog.Logger
	Opened    func(*http.Request) // called when the head of the answer has been sent
}

// adopter serves watches without a goroutine of their own.
type adopter interface {
	// Adopt serves a session from now on, over a handle that nobody else uses. False: both stay the caller's.
	Adopt(s *Session, h transport.Handle) bool
}

// loop is where an adopted session is served. Its methods may be called by any goroutine.
type loop interface {
	// End ends the session with everything that is due, and a last bookmark.
	End()
	// Refuse ends it with an ERROR frame.
	Refuse(why error)
	// Abort ends it at once.
	Abort()
}

// Start is what there is to know of a watch before it begins.
type Start struct {
	Resource      string // for operators
	Cache         *watchcache.Cache
	Query         watchcache.WatchQuery
	Encoder       Encoder
	Bookmarks     bool          // the client is told how far it is
	BookmarkEvery time.Duration // how often
	Deadline      time.Time
	Fail          errorHandler
	Done          func() // called when the watch has ended, or has not begun
}

// Follow opens the watch and serves it.
func (s *Service) Follow(w http.ResponseWriter, r *http.Request, start Start) {
	entry, ctx, err := s.Registry.Add(r.Context(), access.CallerOf(r))
	if err != nil {
		start.Done()
		start.Fail(w, r, err)
		return
	}
	if err := s.Access.RevalidateChanged(access.CallerOf(r)); err != nil {
		start.Done()
		entry.Done()
		start.Fail(w, r, err)
		return
	}
	watcher, err := start.Cache.Watch(start.Query)
	if err != nil {
		start.Done()
		entry.Done()
		start.Fail(w, r, err)
		return
	}
	opened := &Session{
		service: s, Cache: start.Cache, Watcher: watcher, Encoder: start.Encoder, Bookmarks: start.Bookmarks, BookmarkEvery: start.BookmarkEvery,
		deadline: start.Deadline, Registration: entry, done: start.Done,
		Counters: s.Stats.add(r, start.Cache, start.Resource),
	}
	opened.serve(ctx, w, r)
}

// minWatch: a watch without timeoutSeconds lasts once to twice as long, at random, so that clients that came together do not come back
// together.
const minWatch = 30 * time.Minute

// DeadlineAfter is when a watch has to end; zero: the client has not said.
func DeadlineAfter(timeout time.Duration) time.Time {
	if timeout == 0 {
		timeout = minWatch + rand.N(minWatch)
	}
	return time.Now().Add(timeout)
}
