package watch

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"revtail/gateway/access"
	"revtail/gateway/access/cputime"
	"revtail/gateway/http/response"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
)

// Service opens watches and serves them. The caller sets the fields before the first request, and does not change them afterwards. Its
// methods may be called by any goroutine.
type Service struct {
	Opener    *transport.Opener   // opens the streams; its WriteTimeout limits slow clients
	Adopter   adopter             // nil: a goroutine serves each watch
	Registry  registry            // the open streams, with their limit per user
	Stats     stats               // counts what watches send
	Access    *access.Control     // revalidates callers
	Processor *cputime.Scheduler  // shares the time for what clients choose
	Responder *response.Responder // counts and answers errors
	Logger    *slog.Logger
	Opened    func(*http.Request) // called when the header of the response has been sent; not nil
}

// adopter serves watches without a goroutine of their own.
type adopter interface {
	// Adopt makes an event loop serve a session, over a handle that nothing else uses. It does not wait for the loop. If it returns true, the caller
	// uses neither the session nor the handle any more. If it returns false, the caller continues to serve the session.
	Adopt(s *Session, h transport.Handle) bool
}

// loop serves one adopted session. Its methods may be called by any goroutine, also under locks: they do not block.
type loop interface {
	// End ends the session after the events that are due and a last bookmark.
	End()
	// Refuse ends the session with an ERROR frame of the error why.
	Refuse(why error)
	// Abort breaks the connection of the session at once.
	Abort()
}

// Start holds the parameters of a watch.
type Start struct {
	Resource      string                // for the metrics and /debug/watchers
	Cache         *watchcache.Cache     // filled
	Query         watchcache.WatchQuery // what to watch, and from which revision
	Encoder       Encoder               // encodes all frames
	Bookmarks     bool                  // the client wants bookmarks
	BookmarkEvery time.Duration         // time between two bookmarks, see BookmarkPeriod and HeartbeatInterval
	Deadline      time.Time             // end of the watch, see DeadlineAfter
	Fail          errorHandler          // answers the request with an error before the header of the response
	Done          func()                // called once, when the watch has ended or has failed to open; not nil
}

// Follow opens a watch of the request's caller and serves it. It calls start.Fail with an error of the registry, of the caller's rights or of
// the cache; later errors are ERROR frames. Follow returns when the watch has ended or an event loop has adopted it. It panics with
// http.ErrAbortHandler if the stream has broken. A client that takes no data for socket.WriteTimeout is disconnected.
func (s *Service) Follow(w http.ResponseWriter, r *http.Request, start Start) {
	entry, ctx, err := s.Registry.Add(r)
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
	account := s.Account(r)
	start.Query.Account, start.Query.Passes = account, start.Encoder.Passes()
	watcher, err := start.Cache.Watch(start.Query)
	if err != nil {
		start.Done()
		entry.Done()
		account.Release()
		start.Fail(w, r, err)
		return
	}
	response.SetLongRunning(w)
	opened := &Session{
		service: s, Cache: start.Cache, Watcher: watcher, Encoder: start.Encoder, Bookmarks: start.Bookmarks, BookmarkEvery: start.BookmarkEvery,
		deadline: start.Deadline, Registration: entry, done: start.Done, Account: account, Passes: start.Query.Passes,
		Counters: s.Stats.add(r, start.Cache, start.Resource),
	}
	opened.serve(ctx, w, r)
}

// Account returns the account of the caller of a request, which pays for the work that the caller has chosen. The caller of Account
// releases it.
func (s *Service) Account(r *http.Request) *cputime.Account {
	return s.Processor.Account(access.AccountOf(r))
}

// minWatch is the shortest duration of a watch without timeoutSeconds. The longest is twice as long. DeadlineAfter picks a random one, because
// otherwise clients that connected at the same moment would reconnect at the same moment.
const minWatch = 30 * time.Minute

// DeadlineAfter returns the deadline of a watch that starts now. A timeout of zero means that the client gave none: the watch then lasts 30 to
// 60 minutes, at random.
func DeadlineAfter(timeout time.Duration) time.Time {
	if timeout == 0 {
		timeout = minWatch + rand.N(minWatch)
	}
	return time.Now().Add(timeout)
}
