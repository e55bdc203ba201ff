package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache"
)

// heartbeatEvery is how often a client of the keys API, or of an event stream, is told how far its watch is complete.
const heartbeatEvery = 15 * time.Second

// keysWatches is what the keys API needs of the service that serves watches.
type keysWatches struct {
	follow        func(http.ResponseWriter, *http.Request, watchStart)
	register      func(context.Context, *caller) (*openStream, context.Context, error)
	asEventStream func(w http.ResponseWriter, frames framing, marks bool, fail refusal) (framing, refusal)
}

// watch streams the state of keys, unless the request says from which revision it resumes, and then their changes.
func (h *keysHandler) watch(w http.ResponseWriter, r *http.Request, q keyrange.Query) error {
	selection, err := h.selection(q)
	if err != nil {
		return err
	}
	start := watchStart{resource: "keys", frames: keyEncoder{q.Prev, selection.fields}, marks: true, every: heartbeatEvery, deadline: deadline(listParams{}), fail: h.responder.fail}
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that buffers would delay events
	if wantsEventStream(r) {
		start.frames, start.fail = h.watches.asEventStream(w, start.frames, true, h.responder.fail)
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

// lastOfRevision tells whether nothing of the revision of a change follows. False within the state that a watch begins with: a
// client cannot resume there.
func lastOfRevision(batch watchcache.Batch, i int) bool {
	if batch.Through == 0 || batch.Synced {
		return false
	}
	return i == len(batch.Changes)-1 || batch.Changes[i].Revision != batch.Changes[i+1].Revision
}
