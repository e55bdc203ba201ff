package gateway

import (
	"context"
	"net/http"
	"strconv"

	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache"
)

// watch streams the state of keys, unless the request says from which revision it resumes, and then their changes.
func (h *keysHandler) watch(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	selection, err := h.selection(q)
	if err != nil {
		return err
	}
	start := watchStart{resource: "keys", encoder: keyEncoder{q.Prev, selection.fields}, bookmarks: true, bookmarkEvery: heartbeatInterval, deadline: deadlineAfter(0), fail: h.responder.fail}
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that buffers would delay events
	if wantsEventStream(r) {
		h.watches.asEventStream(w, &start)
	}
	cache, query, err := h.openCache(r, q)
	if err != nil {
		start.fail(w, r, err)
		return nil
	}
	query.Filter = selection.filter
	start.cache, start.query, start.done = cache.Cache, query, func() { h.keys.caches.release(cache) }
	h.watches.follow(w, r, start)
	return nil
}

// openCache returns the cache for a watch, filled, and where in it the watch begins. The caller releases the cache.
func (h *keysHandler) openCache(r *http.Request, q keyrange.Query) (cache *rangeCache, query watchcache.WatchQuery, err error) {
	query = watchcache.WatchQuery{State: q.Since == 0, After: q.Since, Latest: q.Latest}
	if id := lastEventID(r); id != "" {
		since, invalid := strconv.ParseInt(id, 10, 64)
		if invalid != nil || since <= 0 {
			return nil, query, badRequest("Last-Event-ID %.64q: want the id of an event", id)
		}
		query.State, query.After = false, etcdstore.Revision(since)
	}
	if cache, err = h.keys.watch(r, q.All); err != nil {
		return nil, query, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	if query.AtLeast, err = cache.ready(ctx, query.State); err != nil {
		h.keys.caches.release(cache)
		return nil, query, err
	}
	return cache, query, nil
}
