package keys

import (
	"context"
	"net/http"
	"strconv"

	"revtail/etcdstore"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

// watch streams the state of keys, unless the request says from which revision it resumes, and then their changes.
func (h *Handler) watch(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	selected, err := h.selection(q)
	if err != nil {
		return err
	}
	start := watch.Start{Resource: "keys", Encoder: keyEncoder{q.Prev, selected.fields}, Bookmarks: true, BookmarkEvery: watch.HeartbeatInterval, Deadline: watch.DeadlineAfter(0), Fail: h.responder.Error}
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
	start.Cache, start.Query, start.Done = cache.Cache, query, func() { h.keys.caches.release(cache) }
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
		h.keys.caches.release(cache)
		return nil, query, err
	}
	return cache, query, nil
}
