package keys

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

const (
	// maxWait limits a long poll.
	maxWait = 5 * time.Minute
	// maxPollAnswer is about how many bytes a long poll answers with. The next poll gets the changes that follow.
	maxPollAnswer = 1 << 20
)

// watch streams the state of keys, unless the request says from which revision it resumes, and then their changes.
func (h *Handler) watch(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	selected, err := h.selection(r, q)
	if err != nil {
		return err
	}
	start := watch.Start{Resource: "keys", Encoder: keyEncoder{q.Prev, selected}, Bookmarks: true, BookmarkEvery: watch.HeartbeatInterval, Deadline: watch.DeadlineAfter(0), Fail: h.responder.Error}
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that buffers would delay events
	if response.WantsEventStream(r) {
		h.watches.AsEventStream(w, &start)
	}
	cache, query, err := h.openCache(r, q)
	if err != nil {
		start.Fail(w, r, err)
		return nil
	}
	query.Filter = selected.filter
	user := access.AccountOf(r)
	start.Cache, start.Query, start.Done = cache.Cache, query, func() { h.keys.caches.release(cache, user) }
	h.watches.Follow(w, r, start)
	return nil
}

// openCache returns the cache for a watch, filled, and where in it the watch begins. The caller releases the cache.
func (h *Handler) openCache(r *http.Request, q keyrange.Query) (cache *rangeCache, query watchcache.WatchQuery, err error) {
	query = watchcache.WatchQuery{State: q.Since == 0, After: q.Since, Latest: q.Latest}
	if id := request.LastEventID(r); id != "" {
		since, invalid := strconv.ParseInt(id, 10, 64)
		if invalid != nil || since <= 0 {
			return nil, query, status.BadRequest("Last-Event-ID %.64q: want the id of an event", id)
		}
		query.State, query.After = false, etcdstore.Revision(since)
	}
	if cache, err = h.keys.watch(r, q.All); err != nil {
		return nil, query, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	if query.AtLeast, err = cache.ready(ctx, query.State); err != nil {
		h.keys.caches.release(cache, access.AccountOf(r))
		return nil, query, err
	}
	return cache, query, nil
}

// poll answers a long poll: with the changes after a revision as soon as there are some, or without changes when its time is over.
// The answer has the revision after which the next poll begins.
func (h *Handler) poll(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	selected, err := h.selection(r, q)
	if err != nil {
		return err
	}
	entry, ctx, err := h.watches.Registry.Add(r)
	if err != nil {
		return err
	}
	defer entry.Done()
	if err := h.keys.access.RevalidateChanged(access.CallerOf(r)); err != nil {
		return err
	}
	cache, query, err := h.openCache(r, q)
	if err != nil {
		return err
	}
	defer h.keys.caches.release(cache, access.AccountOf(r))
	query.Filter, query.Account = selected.filter, h.watches.Account(r)
	defer query.Account.Release()
	watcher, err := cache.Watch(query)
	if err != nil {
		return err
	}
	defer watcher.Close()
	response.SetLongRunning(w)
	watch.Begin(ctx, watcher, request.Timeout) // so that a future revision is refused, however short the poll is
	ctx, cancel := context.WithTimeout(ctx, min(q.Wait, maxWait))
	defer cancel()
	events, through, err := pollEvents(ctx, cache.Cache, watcher, keyEncoder{q.Prev, selected})
	if why := entry.Revoked(); why != nil {
		return why
	}
	if err != nil {
		return err
	}
	f := h.allowCaching(w, r, pollLifetime(len(events) > 0))
	document := append(fmt.Appendf(nil, `{"revision":%d,"events":[`, through), events...)
	h.respond(w, r, through, f, append(document, "]}"...))
	return nil
}

// pollEvents waits for changes, and returns those that are ready: complete revisions, up to through.
func pollEvents(ctx context.Context, cache *watchcache.Cache, watcher *watchcache.Watcher, encoder keyEncoder) (events []byte, through etcdstore.Revision, err error) {
	batch, err := watcher.Next(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, 0, err
	}
	if err != nil { // the time is over
		_, _ = cache.Refresh(context.WithoutCancel(ctx)) // if etcd does not answer, the revision that the cache knows will do
		batch, err = watcher.Poll()
	}
	for err == nil {
		through = max(through, batch.Through)
		for i, change := range batch.Changes {
			if len(events) > 0 {
				events = append(events, ',')
			}
			events = encoder.Event(events, change, watch.LastOfRevision(batch, i))
			events = events[:len(events)-len("\n")]
		}
		if len(batch.Changes) == 0 || len(events) > maxPollAnswer {
			return events, through, nil
		}
		batch, err = watcher.Poll()
	}
	if len(events) > 0 {
		return events, through, nil // the next poll gets the error
	}
	return nil, 0, err
}

// keyEncoder writes the events of a watch of keys as JSON lines.
type keyEncoder struct {
	prev     bool // with the value before the change
	selected selection
}

func (keyEncoder) ContentType() string { return "application/x-ndjson" }

func (keyEncoder) Preamble() []byte { return nil }

func (f keyEncoder) Event(dst []byte, c watchcache.Change, last bool) []byte {
	e := encoding.KeyEvent{Type: "PUT", Revision: int64(c.Revision), Last: last, Skipped: c.Skipped}
	if c.Type == encoding.Deleted {
		e.Type, e.Key = "DELETE", c.Object.Path()
	} else {
		e.Current = f.selected.project(c.Object.JSON)
	}
	if f.prev && c.Previous != nil {
		e.Previous = f.selected.project(c.Previous.JSON)
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (keyEncoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	e := encoding.KeyEvent{Type: "PROGRESS", Revision: int64(through)}
	if end {
		e.Type = "SYNC"
	}
	return encoding.AppendKeyEvent(dst, e)
}

func (keyEncoder) ErrorEvent(dst []byte, err error) []byte {
	st := status.OfKeys(err)
	return encoding.AppendKeyError(dst, int(st.Code), string(st.Reason), st.Message)
}

func (f keyEncoder) Passes() int {
	if f.selected.fields == nil {
		return 0
	}
	return 2 // of the value before, too
}

func (keyEncoder) Shared() bool { return true }
