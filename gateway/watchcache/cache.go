package watchcache

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// Config says what a Cache keeps. Every field but Path, Key and Gap is needed.
type Config struct {
	Store  etcdstore.Store
	Prefix string // what the keys of the resource begin with; ends with "/"
	// Path makes the path of an object of its key, below the prefix: no two of one; their order may be another one. Nil: it is
	// what stands there.
	Path func(rest string) string
	// Key finds the key of a path again, where there is a Path.
	Key func(path string) string
	// Decode makes the document of a key and its value. The error says why it cannot be shown or, beside a document, why that
	// shows the bytes of the value.
	Decode func(etcdstore.KV) (encoding.Object, error)
	Logger *slog.Logger
	// Gap is the least time between two wake-ups of watchers: what is written in a burst reaches them together, and the first
	// event after a quiet time at once. Zero: each batch of the store wakes them.
	Gap time.Duration
}

// Cache keeps one resource in memory. It is safe for concurrent use, and serves only while Run runs.
type Cache struct {
	config            Config
	progressRequested chan struct{} // holds one: somebody waits for the cache to catch up
	filled            chan struct{} // closed after the first fill
	fanout            *historyFanout
	reads             *history.RevisionReads
	checker           *history.ConsistencyChecker

	verifyRequests chan error // holds one: see suspect
	lookBack       etcdstore.Revision
	loading        chan struct{} // holds one while a past state is read

	mu              sync.Mutex // guards the fields below, for O(1) or the size of one batch
	ready           bool
	stopped         bool
	generation      int // counts the histories of the store that were served
	liveness        liveness
	fills           int                // how often the whole state was read
	losses          int                // how often etcd's watch was lost
	historyReads    int                // how many watches had to read etcd's history
	snapshotLoads   int                // how many lists had to
	inconsistencies int                // how often an inspection found something else than etcd has
	through         etcdstore.Revision // up to which the cache is complete
	current         snapshot           // the state as of through
	log             log
	waitLists       map[wakeKey]*waitList
	notifier        notifier
	indexes         indexes
	advanced        chan struct{} // closed when through grows; nil: nobody waits
	waiters         int           // how many wait for advanced
	snapshots       snapshots     // snapshots that clients are paging through
	watchers        int
}

// New makes a cache; Run fills it.
func New(config Config) *Cache {
	c := &Cache{
		config:            config,
		progressRequested: make(chan struct{}, 1),
		filled:            make(chan struct{}),

		verifyRequests: make(chan error, 1),
		lookBack:       lookBack,
		loading:        make(chan struct{}, 1),

		waitLists: make(map[wakeKey]*waitList),
		indexes:   make(indexes),
	}
	c.fanout = c.newFanout()
	c.reads = history.NewRevisionReads(c.Newest, ErrStopped)
	c.checker = history.NewConsistencyChecker(config.Store, config.Prefix, c.consistencyState, c.reportDifference)
	return c
}

// Filled is closed when the cache has been filled for the first time.
func (c *Cache) Filled() <-chan struct{} { return c.filled }

// Decode makes an object of a key of the resource and its value, whether or not the cache holds it.
func (c *Cache) Decode(kv etcdstore.KV) *Object {
	o := newObject(c.path(kv.Key), kv.Modified)
	o.Object, o.Invalid = c.config.Decode(kv)
	return o
}

// path is where the object of a key stands.
func (c *Cache) path(key string) string {
	rest := key[len(c.config.Prefix):]
	if c.config.Path != nil {
		return c.config.Path(rest)
	}
	return rest
}

// key is the key of an object that stands at a path.
func (c *Cache) key(path string) string {
	if c.config.Key != nil {
		return c.config.Key(path)
	}
	return c.config.Prefix + path
}

// decodeAll makes objects of keys in their order, in the order of their paths.
func (c *Cache) decodeAll(kvs []etcdstore.KV) []*Object {
	decoded := make([]*Object, len(kvs))
	for i, kv := range kvs {
		decoded[i] = c.Decode(kv)
	}
	if c.config.Path != nil {
		slices.SortFunc(decoded, func(a, b *Object) int { return strings.Compare(a.path, b.path) })
	}
	return decoded
}

// Stats are figures for operators.
type Stats struct {
	Ready    bool
	Revision etcdstore.Revision
	Objects  int // that can be shown
	Invalid  int // values that cannot be decoded, whether or not their bytes are shown
	Watchers int
	Events   int // in the log
	Untrue   int // how often an inspection has found something else than etcd has
	Bytes    int // of the documents of the objects
	Fills    int // how often the whole state was read from etcd
	Losses   int // how often etcd's watch was lost, and opened again
	Historic int // watchers that read etcd's history
	Pasts    int // watchers that have had to
	Loads    int // lists that were read from etcd's history
}

// Stats returns the figures of this moment.
func (c *Cache) Stats() Stats {
	historic, _ := c.fanout.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Ready: c.ready, Revision: c.through, Watchers: c.watchers, Events: int(c.log.next - c.log.first), Untrue: c.inconsistencies, Fills: c.fills, Losses: c.losses,
		Historic: historic, Pasts: c.historyReads, Loads: c.snapshotLoads}
	if c.current.objects != nil {
		s.Bytes = c.current.objects.size
		s.Objects, s.Invalid = c.current.objects.count, c.current.invalid.count+c.current.undecoded
	}
	return s
}

// publish replaces the whole state after a fill: the log starts anew with the newest events, those later than floor, and
// whoever waits looks again.
func (c *Cache) replace(s snapshot, floor etcdstore.Revision, newest []*event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		c.ready = true
		select {
		case <-c.filled:
		default:
			close(c.filled)
		}
	}
	c.fills++
	c.current = s
	c.log.reset(floor)
	c.log.resize(s.objects.size)
	for _, e := range newest {
		c.log.append(e)
	}
	c.advanceLocked(s.revision)
	c.wakeAllLocked()
	c.notifier.published(c.log.next)
}

// append publishes one batch: the state after it, and its events.
func (c *Cache) appendBatch(s snapshot, events []*event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = s
	c.log.resize(s.objects.size)
	for _, e := range events {
		c.log.append(e)
		c.notifier.add(e)
		if c.notifier.bytes >= maxUnpublished || c.log.next-c.notifier.first >= uint64(len(c.log.ring)/2) {
			c.publishLocked() // before the log drops it
		}
	}
	c.schedulePublishLocked()
	c.advanceLocked(s.revision)
}

// advanceLocked never lets through go back: a refill after a restored etcd may, and is then a new history.
func (c *Cache) advanceLocked(through etcdstore.Revision) {
	c.through = through
	if c.advanced != nil {
		close(c.advanced)
		c.advanced = nil
	}
}

// stop ends every watcher and everyone who waits.
func (c *Cache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.ready = true, false
	c.wakeAllLocked()
	c.notifier.published(c.log.next)
	c.advanceLocked(c.through)
}

// unreadyLocked is what a reader gets from a cache that cannot serve.
func (c *Cache) notReadyLocked() error {
	if c.stopped {
		return ErrStopped
	}
	return &NotReadyError{RetryAfter: time.Second}
}
