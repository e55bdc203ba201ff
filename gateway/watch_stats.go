package gateway

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/metrics"
	"revtail/gateway/watchcache"
)

// stats is the open watches, and what all watches have sent, for operators. What is counted at each delivery is counted where
// nobody else counts, and summed up when somebody asks.
type stats struct {
	mu    sync.Mutex // guards the fields below
	open  map[*counters]struct{}
	sent  map[string]metrics.Sent // by resource, of the watches that have ended
	ended map[string]uint64       // by reason

	delays metrics.Delays // of watches on goroutines; writers have their own
}

// endings are the reasons for which watches end, as labels of a metric.
var endings = []string{endedStalled, endedClient, endedShutdown, endedRevoked, endedBroken, endedExpired, endedError, endedTimeout}

const (
	endedStalled  = "stalled"
	endedClient   = "client"
	endedShutdown = "shutdown"
	endedRevoked  = "revoked"
	endedBroken   = "broken"
	endedExpired  = "expired"
	endedError    = "error"
	endedTimeout  = "timeout"
)

// counters is what a watch has sent.
type counters struct {
	cache    *watchcache.Cache
	resource string
	since    time.Time

	user, path, query, client, agent string

	events, bytes atomic.Uint64
	through       atomic.Int64  // the revision of the last delivery
	blockedSince  atomic.Int64  // since when the client has not taken all that was written to it, in ns; zero: it has
	errorCode     atomic.Uint32 // of the codes of HTTP, in an ERROR frame

	received time.Time // only for who serves the watch: when what is being sent came from etcd; the zero time: nothing is, or it is of the time before the watch
}

// shownQuery is what of a query says what is watched. Anything else might be a secret.
func shownQuery(query url.Values) string {
	shown := url.Values{}
	for _, key := range []string{"labelSelector", "fieldSelector", "filter", "fields", "resourceVersion", "sendInitialEvents", "timeoutSeconds"} {
		if query.Has(key) {
			shown.Set(key, query.Get(key))
		}
	}
	return shown.Encode()
}

// add enters a watch of what a cache has: a resource, or keys.
func (w *stats) add(r *http.Request, cache *watchcache.Cache, resource string) *counters {
	out := &counters{
		cache: cache, resource: resource, since: time.Now(),
		path: r.URL.Path, query: shownQuery(queryOf(r)), client: r.RemoteAddr, agent: r.UserAgent(),
	}
	if c := callerOf(r); c != nil {
		out.user = c.identity.Name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open, w.sent, w.ended = make(map[*counters]struct{}), make(map[string]metrics.Sent), make(map[string]uint64)
	}
	w.open[out] = struct{}{}
	return out
}

// remove takes a watch out.
func (w *stats) remove(t *counters, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, t)
	w.sent[t.resource] = w.sent[t.resource].Plus(t.sum())
	w.ended[reason]++
}

// departed is how many watches have ended.
func (w *stats) departed() (n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ended := range w.ended {
		n += ended
	}
	return n
}

func (t *counters) sum() metrics.Sent {
	return metrics.Sent{Events: t.events.Load(), Bytes: t.bytes.Load()}
}

// countSent counts what a client is sent.
func (t *counters) countSent(batch watchcache.Batch, bytes int) {
	t.bytes.Add(uint64(bytes))
	if batch.Received.After(t.since) { // else the client has come back for it
		t.received = batch.Received
	}
	if n := len(batch.Changes); n > 0 {
		t.events.Add(uint64(n))
		t.through.Store(int64(batch.Changes[n-1].Revision))
	}
}

// timed tells whether what is being sent is to be timed.
func (t *counters) timed() bool { return !t.received.IsZero() }

// recordDelivered says when the system has taken what was delivered, which is timed.
func (t *counters) recordDelivered(delays *metrics.Delays, now time.Time) {
	delays.Observe(max(0, now.Sub(t.received)))
	t.received = time.Time{}
}

// setBlockedSince says since when the client has not taken what was written; the zero time: it has taken all.
func (t *counters) setBlockedSince(since time.Time) {
	var ns int64
	if !since.IsZero() {
		ns = since.UnixNano()
	}
	t.blockedSince.Store(ns)
}

// blockedFor is how long the client has not taken what was written to it.
func (t *counters) blockedFor(now time.Time) time.Duration {
	if since := t.blockedSince.Load(); since != 0 {
		return max(0, now.Sub(time.Unix(0, since)))
	}
	return 0
}

// recordError notes that the client gets an ERROR frame.
func (t *counters) recordError(err error) error {
	t.errorCode.Store(uint32(toStatus(err).Code))
	return err
}

// list is the open watches, the oldest first.
func (w *stats) list() []*counters {
	w.mu.Lock()
	open := slices.Collect(maps.Keys(w.open))
	w.mu.Unlock()
	slices.SortFunc(open, func(a, b *counters) int { return a.since.Compare(b.since) })
	return open
}

// figures sum up what all watches have sent.
func (w *stats) figures() metrics.Watches {
	w.mu.Lock()
	open := slices.Collect(maps.Keys(w.open))
	out := metrics.Watches{Sent: maps.Clone(w.sent), Ended: maps.Clone(w.ended), Delays: []*metrics.Delays{&w.delays}}
	w.mu.Unlock()
	now := time.Now()
	if out.Sent == nil {
		out.Sent, out.Ended = make(map[string]metrics.Sent), make(map[string]uint64)
	}
	for _, reason := range endings {
		out.Ended[reason] += 0 // a rate knows nothing of a first one
	}
	for _, t := range open {
		out.Sent[t.resource] = out.Sent[t.resource].Plus(t.sum())
		lag := t.blockedFor(now)
		out.Slowest = max(out.Slowest, lag)
		if lag > 0 {
			out.Late++
		}
	}
	return out
}
