package watch

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/metrics"
	"revtail/gateway/watchcache"
)

// stats is the open watches, and what all watches have sent, for operators. What is counted at each delivery is counted where
// nobody else counts, and summed up when somebody asks.
type stats struct {
	mu    sync.Mutex // guards the fields below
	open  map[*Counters]struct{}
	sent  map[string]metrics.Sent // by resource, of the watches that have ended
	ended map[string]uint64       // by reason

	delays metrics.Delays // of sessions on goroutines; event loops have their own
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

// Counters is what a watch has sent.
type Counters struct {
	cache    *watchcache.Cache
	resource string
	since    time.Time

	user, Path, query, client, agent string

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
func (s *stats) add(r *http.Request, cache *watchcache.Cache, resource string) *Counters {
	out := &Counters{
		cache: cache, resource: resource, since: time.Now(),
		Path: r.URL.Path, query: shownQuery(request.Query(r)), client: r.RemoteAddr, agent: r.UserAgent(),
	}
	if c := access.CallerOf(r); c != nil {
		out.user = c.Identity.Name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open, s.sent, s.ended = make(map[*Counters]struct{}), make(map[string]metrics.Sent), make(map[string]uint64)
	}
	s.open[out] = struct{}{}
	return out
}

// remove takes a watch out.
func (s *stats) remove(c *Counters, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	s.sent[c.resource] = s.sent[c.resource].Plus(c.sum())
	s.ended[reason]++
}

// Departed is how many watches have ended.
func (s *stats) Departed() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ended := range s.ended {
		n += ended
	}
	return n
}

func (c *Counters) sum() metrics.Sent {
	return metrics.Sent{Events: c.events.Load(), Bytes: c.bytes.Load()}
}

// CountSent counts what a client is sent.
func (c *Counters) CountSent(batch watchcache.Batch, bytes int) {
	c.bytes.Add(uint64(bytes))
	if batch.Received.After(c.since) { // else the client has come back for it
		c.received = batch.Received
	}
	if n := len(batch.Changes); n > 0 {
		c.events.Add(uint64(n))
		c.through.Store(int64(batch.Changes[n-1].Revision))
	}
}

// Timed tells whether what is being sent is to be timed.
func (c *Counters) Timed() bool { return !c.received.IsZero() }

// RecordDelivered says when the system has taken what was delivered, which is timed.
func (c *Counters) RecordDelivered(delays *metrics.Delays, now time.Time) {
	delays.Observe(max(0, now.Sub(c.received)))
	c.received = time.Time{}
}

// SetBlockedSince says since when the client has not taken what was written; the zero time: it has taken all.
func (c *Counters) SetBlockedSince(since time.Time) {
	var ns int64
	if !since.IsZero() {
		ns = since.UnixNano()
	}
	c.blockedSince.Store(ns)
}

// blockedFor is how long the client has not taken what was written to it.
func (c *Counters) blockedFor(now time.Time) time.Duration {
	if since := c.blockedSince.Load(); since != 0 {
		return max(0, now.Sub(time.Unix(0, since)))
	}
	return 0
}

// RecordError records that the client gets an ERROR frame, and returns the error.
func (c *Counters) RecordError(err error) error {
	c.errorCode.Store(uint32(status.Of(err).Code))
	return err
}

// list is the open watches, the oldest first.
func (s *stats) list() []*Counters {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	slices.SortFunc(open, func(a, b *Counters) int { return a.since.Compare(b.since) })
	return open
}

// Figures sum up what all watches have sent.
func (s *stats) Figures() metrics.Watches {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	out := metrics.Watches{Sent: maps.Clone(s.sent), Ended: maps.Clone(s.ended), Delays: []*metrics.Delays{&s.delays}}
	s.mu.Unlock()
	now := time.Now()
	if out.Sent == nil {
		out.Sent, out.Ended = make(map[string]metrics.Sent), make(map[string]uint64)
	}
	for _, reason := range endings {
		out.Ended[reason] += 0 // a rate knows nothing of a first one
	}
	for _, c := range open {
		out.Sent[c.resource] = out.Sent[c.resource].Plus(c.sum())
		lag := c.blockedFor(now)
		out.Slowest = max(out.Slowest, lag)
		if lag > 0 {
			out.Late++
		}
	}
	return out
}
