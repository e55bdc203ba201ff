package gateway

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/metrics"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

// watching is the open watches, and what all watches have sent, for operators. What is counted at each delivery is counted where
// nobody else counts, and summed up when somebody asks.
type watching struct {
	mu    sync.Mutex // guards the fields below
	open  map[*traffic]struct{}
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

// traffic is what a watch has sent.
type traffic struct {
	cache    *watchcache.Cache
	resource string
	since    time.Time

	user, path, query, client, agent string

	events, bytes atomic.Uint64
	through       atomic.Int64  // the revision of the last delivery
	unsent        atomic.Int64  // since when the client has not taken all that was written to it, in ns; zero: it has
	failure       atomic.Uint32 // of the codes of HTTP, in an ERROR frame

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

// begin enters a watch of what a cache has: a resource, or keys.
func (w *watching) begin(r *http.Request, cache *watchcache.Cache, resource string) *traffic {
	out := &traffic{
		cache: cache, resource: resource, since: time.Now(),
		path: r.URL.Path, query: shownQuery(queryOf(r)), client: r.RemoteAddr, agent: r.UserAgent(),
	}
	if c := callerOf(r); c != nil {
		out.user = c.identity.Name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open, w.sent, w.ended = make(map[*traffic]struct{}), make(map[string]metrics.Sent), make(map[string]uint64)
	}
	w.open[out] = struct{}{}
	return out
}

// end takes a watch out.
func (w *watching) end(t *traffic, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, t)
	w.sent[t.resource] = w.sent[t.resource].Plus(t.sum())
	w.ended[reason]++
}

// departed is how many watches have ended.
func (w *watching) departed() (n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ended := range w.ended {
		n += ended
	}
	return n
}

func (t *traffic) sum() metrics.Sent {
	return metrics.Sent{Events: t.events.Load(), Bytes: t.bytes.Load()}
}

// delivered counts what a client is sent.
func (t *traffic) delivered(batch watchcache.Batch, bytes int) {
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
func (t *traffic) timed() bool { return !t.received.IsZero() }

// taken says when the system has taken what was delivered, which is timed.
func (t *traffic) taken(delays *metrics.Delays, now time.Time) {
	delays.Observe(max(0, now.Sub(t.received)))
	t.received = time.Time{}
}

// late says since when the client has not taken what was written; the zero time: it has taken all.
func (t *traffic) late(since time.Time) {
	var ns int64
	if !since.IsZero() {
		ns = since.UnixNano()
	}
	t.unsent.Store(ns)
}

// lag is how long the client has not taken what was written to it.
func (t *traffic) lag(now time.Time) time.Duration {
	if since := t.unsent.Load(); since != 0 {
		return max(0, now.Sub(time.Unix(0, since)))
	}
	return 0
}

// refuse notes that the client gets an ERROR frame.
func (t *traffic) refuse(err error) error {
	t.failure.Store(uint32(toStatus(err).Code))
	return err
}

// reason is why the watch ends, in a few words that are labels of a metric.
func (wt *watch) reason(err error) string {
	switch code := wt.traffic.failure.Load(); {
	case errors.Is(err, socket.ErrStalled):
		return endedStalled
	case errors.Is(err, socket.ErrPeerGone):
		return endedClient
	case errors.Is(err, errDraining), err == nil && wt.service.streams.leaving():
		return endedShutdown
	case wt.entry.revoked.Load() != nil:
		return endedRevoked
	case err != nil:
		return endedBroken
	case code == http.StatusGone:
		return endedExpired
	case code != 0:
		return endedError
	case wt.over(time.Now()):
		return endedTimeout
	}
	return endedClient
}

// list is the open watches, the oldest first.
func (w *watching) list() []*traffic {
	w.mu.Lock()
	open := slices.Collect(maps.Keys(w.open))
	w.mu.Unlock()
	slices.SortFunc(open, func(a, b *traffic) int { return a.since.Compare(b.since) })
	return open
}

// figures sum up what all watches have sent.
func (w *watching) figures() metrics.Watches {
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
		lag := t.lag(now)
		out.Slowest = max(out.Slowest, lag)
		if lag > 0 {
			out.Late++
		}
	}
	return out
}
