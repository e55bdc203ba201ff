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

// stats holds the statistics of open and ended watches, for /metrics and /debug/watchers. Each open watch has its own Counters, because
// shared counters would be contended at each delivery; list and Figures read them all. Its methods may be called by any goroutine.
type stats struct {
	mu    sync.Mutex              // guards open, sent and ended
	open  openSet[*Counters]      // of open watches
	sent  map[string]metrics.Sent // of ended watches, by resource
	ended map[string]uint64       // number of ended watches, by reason

	delays metrics.Delays // of sessions on goroutines; each event loop has its own
}

// endings are all reasons for which watches end, as label values of revtail_watches_ended_total.
var endings = []string{endedStalled, endedClient, endedShutdown, endedRevoked, endedBroken, endedExpired, endedError, endedTimeout}

const (
	endedStalled  = "stalled"  // the client took no data for the write timeout
	endedClient   = "client"   // the client disconnected
	endedShutdown = "shutdown" // the server drains
	endedRevoked  = "revoked"  // the caller lost the right to the watch
	endedBroken   = "broken"   // another error of the stream
	endedExpired  = "expired"  // ERROR frame with code 410
	endedError    = "error"    // ERROR frame with another code
	endedTimeout  = "timeout"  // the deadline
)

// Counters counts what one watch has sent. The goroutine or event loop that serves the watch calls the exported methods; other goroutines
// read the atomic fields.
type Counters struct {
	cache    *watchcache.Cache
	resource string
	since    time.Time // start of the watch

	user, Path, query, client, agent string

	events, bytes atomic.Uint64
	through       atomic.Int64  // revision of the last sent change; zero: no change was sent
	blockedSince  atomic.Int64  // Unix time in ns since which the client has left written data unread; zero: it has read everything
	errorCode     atomic.Uint32 // HTTP code of the ERROR frame; zero: no ERROR frame

	// received is the time at which the changes that are being sent came from etcd. Zero: no changes are being sent, or they came before the
	// watch started. Only the goroutine or loop that serves the watch uses it.
	received time.Time
}

// shownQuery returns the parameters of a query that say what is watched. It leaves out all others, because they might hold a secret.
func shownQuery(query url.Values) string {
	shown := url.Values{}
	for _, key := range []string{"labelSelector", "fieldSelector", "filter", "fields", "resourceVersion", "sendInitialEvents", "timeoutSeconds"} {
		if query.Has(key) {
			shown.Set(key, query.Get(key))
		}
	}
	return shown.Encode()
}

// add adds an open watch of a cache to the statistics, under the name of a resource, or "keys".
func (s *stats) add(r *http.Request, cache *watchcache.Cache, resource string) *Counters {
	out := &Counters{
		cache: cache, resource: resource, since: time.Now(),
		Path: r.URL.Path, query: shownQuery(request.Query(r)), client: r.RemoteAddr, agent: r.UserAgent(),
	}
	if c := access.CallerOf(r); c != nil {
		out.user = c.Real.Name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent, s.ended = make(map[string]metrics.Sent), make(map[string]uint64)
	}
	s.open.add(out)
	return out
}

// remove adds the counters of a watch that has ended to the totals. reason is one of endings.
func (s *stats) remove(c *Counters, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.remove(c)
	s.sent[c.resource] = s.sent[c.resource].Plus(c.sum())
	s.ended[reason]++
}

// Departed returns the number of watches that have ended.
func (s *stats) Departed() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ended := range s.ended {
		n += ended
	}
	return n
}

// sum returns the numbers of events and bytes that the watch has sent.
func (c *Counters) sum() metrics.Sent {
	return metrics.Sent{Events: c.events.Load(), Bytes: c.bytes.Load()}
}

// CountSent counts a batch whose frames have a total length in bytes. It starts the timing of the delivery if the first change of the batch
// came from etcd after the watch started.
func (c *Counters) CountSent(batch watchcache.Batch, bytes int) {
	c.bytes.Add(uint64(bytes))
	if batch.Received.After(c.since) { // an older change is one that a resuming client has missed
		c.received = batch.Received
	}
	if n := len(batch.Changes); n > 0 {
		c.events.Add(uint64(n))
		c.through.Store(int64(batch.Changes[n-1].Revision))
	}
}

// Timed reports whether a delivery is being timed, and RecordDelivered must be called at its end.
func (c *Counters) Timed() bool { return !c.received.IsZero() }

// RecordDelivered adds the duration of a timed delivery to delays. now is the time at which the operating system has taken all its bytes.
func (c *Counters) RecordDelivered(delays *metrics.Delays, now time.Time) {
	delays.Observe(max(0, now.Sub(c.received)))
	c.received = time.Time{}
}

// SetBlockedSince records the time since which the client has left written data unread; the zero time: the client has read everything.
func (c *Counters) SetBlockedSince(since time.Time) {
	var ns int64
	if !since.IsZero() {
		ns = since.UnixNano()
	}
	c.blockedSince.Store(ns)
}

// blockedFor returns how long the client has left written data unread at a time; zero: it has read everything.
func (c *Counters) blockedFor(now time.Time) time.Duration {
	if since := c.blockedSince.Load(); since != 0 {
		return max(0, now.Sub(time.Unix(0, since)))
	}
	return 0
}

// recordError records the code of the ERROR frame that the client gets, and returns the error.
func (c *Counters) recordError(err error) error {
	c.errorCode.Store(uint32(status.Of(err).Code))
	return err
}

// list returns the counters of the open watches, the oldest first.
func (s *stats) list() []*Counters {
	s.mu.Lock()
	open := slices.Collect(s.open.all())
	s.mu.Unlock()
	slices.SortFunc(open, func(a, b *Counters) int { return a.since.Compare(b.since) })
	return open
}

// Figures returns the totals of all watches, for /metrics. The caller may modify the result.
func (s *stats) Figures() metrics.Watches {
	s.mu.Lock()
	open := slices.Collect(s.open.all())
	out := metrics.Watches{Sent: maps.Clone(s.sent), Ended: maps.Clone(s.ended), Delays: []*metrics.Delays{&s.delays}}
	s.mu.Unlock()
	now := time.Now()
	if out.Sent == nil {
		out.Sent, out.Ended = make(map[string]metrics.Sent), make(map[string]uint64)
	}
	for _, reason := range endings {
		out.Ended[reason] += 0 // because a rate needs a value before the first end
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
