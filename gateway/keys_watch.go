package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache"
)

const (
	// maxWait bounds a long poll.
	maxWait = 5 * time.Minute
	// maxPolled is about how many bytes a long poll answers with: the rest has an answer of its own.
	maxPolled = 1 << 20
)

// serveKeysWatch streams keys: the state first, unless it says where to go on, then what changes.
func (s *Server) serveKeysWatch(w http.ResponseWriter, r *http.Request, q keyrange.Query) {
	choice, err := s.keyChoice(q)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	start := watchStart{resource: "keys", encoder: keyEncoder{q.Prev, choice.fields}, bookmarks: true, bookmarkEvery: heartbeatInterval, deadline: deadlineAfter(0), fail: s.responder.fail}
	w.Header().Set("X-Accel-Buffering", "no") // what is held back by a proxy is late
	if wantsEventStream(r) {
		s.watches.asEventStream(w, &start)
	}
	cache, query, err := s.openKeys(r, q)
	if err != nil {
		start.fail(w, r, err)
		return
	}
	query.Filter = choice.filter
	start.cache, start.query, start.done = cache.Cache, query, func() { s.keyCaches.release(cache) }
	s.watches.follow(w, r, start)
}

// openKeys finds the cache for a watch, filled, and says where the watch begins. The caller releases the cache.
func (s *Server) openKeys(r *http.Request, q keyrange.Query) (cache *keyCache, query watchcache.WatchQuery, err error) {
	query = watchcache.WatchQuery{State: q.Since == 0, After: q.Since, Latest: q.Latest}
	if id := lastEventID(r); id != "" {
		since, invalid := strconv.ParseInt(id, 10, 64)
		if invalid != nil || since <= 0 {
			return nil, query, badRequest("Last-Event-ID %.64q: want the id of an event", id)
		}
		query.State, query.After = false, etcdstore.Revision(since)
	}
	for _, keys := range q.All {
		if err := s.permitKeys(r, "watch", keys); err != nil {
			return nil, query, err
		}
	}
	if cache, err = s.keyCaches.acquire(q.All); err != nil {
		return nil, query, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	select {
	case <-cache.exceeded:
	case <-cache.Filled():
		if query.State {
			query.AtLeast, err = cache.Newest(ctx)
		}
	case <-ctx.Done():
		err = &watchcache.NotReadyError{RetryAfter: time.Second}
	}
	if cache.tooLarge() {
		err = errRangeTooLarge
	}
	if err != nil {
		s.keyCaches.release(cache)
		return nil, query, err
	}
	return cache, query, nil
}

// servePoll answers a long poll: with the changes after a revision as soon as there are some, or with none when its time is
// over. Its answer says where the next one begins.
func (s *Server) servePoll(w http.ResponseWriter, r *http.Request, q keyrange.Query) {
	choice, err := s.keyChoice(q)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	entry, ctx, err := s.watches.registry.add(r.Context(), callerOf(r))
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	defer entry.done()
	cache, query, err := s.openKeys(r, q)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	defer s.keyCaches.release(cache)
	query.Filter = choice.filter
	watcher, err := cache.Watch(query)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	defer watcher.Close()
	begin(ctx, watcher, requestTimeout) // a revision that etcd has not reached is refused, however short the wait
	ctx, cancel := context.WithTimeout(ctx, min(q.Wait, maxWait))
	defer cancel()
	events, through, err := poll(ctx, cache.Cache, watcher, keyEncoder{q.Prev, choice.fields})
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	s.sharePoll(w, r, len(events) > 0)
	document := append(fmt.Appendf(nil, `{"revision":%d,"events":[`, through), events...)
	s.respondPlain(w, r, through, append(document, "]}"...))
}

// poll waits for changes, and then takes what there is: complete revisions, up to through.
func poll(ctx context.Context, cache *watchcache.Cache, watcher *watchcache.Watcher, frames keyEncoder) (events []byte, through etcdstore.Revision, err error) {
	batch, err := watcher.Next(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, 0, err
	}
	if err != nil { // none came
		_, _ = cache.Refresh(context.WithoutCancel(ctx)) // without an answer it is as far as it is known
		batch, err = watcher.Poll()
	}
	for err == nil {
		through = max(through, batch.Through)
		for i, change := range batch.Changes {
			if len(events) > 0 {
				events = append(events, ',')
			}
			events = frames.event(events, change, lastOfRevision(batch, i))
			events = events[:len(events)-len("\n")]
		}
		if len(batch.Changes) == 0 || len(events) > maxPolled {
			return events, through, nil
		}
		batch, err = watcher.Poll()
	}
	if len(events) > 0 {
		return events, through, nil // the next poll is told
	}
	return nil, 0, err
}
