package watchcache

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
	"revtail/gateway/watchcache/snapshots"
)

// DefaultGap is a Config.Gap that turns a burst of writes into one write to each watch. It is less than a flush of etcd to its disk
// takes.
const DefaultGap = 2 * time.Millisecond

// Config configures a Cache. Every field except Path, Key, Readable, Gap and LogReserve is needed.
type Config struct {
	Store  etcdstore.Store
	Prefix string // of the keys of the resource; ends with "/"
	// Path makes the unique path of an object from its key, below the prefix. Paths may have another order than keys. Nil: the
	// path is the rest of the key.
	Path func(rest string) string
	// Key is the inverse of Path: it returns the whole key.
	Key func(path string) string
	// Decode makes the document of a key and its value. The error says why the value cannot be decoded; with a document, the
	// document shows the bytes of the value.
	// The document may be in the capacity of an empty buffer.
	Decode   func(kv etcdstore.KV, buffer []byte) (encoding.Object, error)
	Logger   *slog.Logger
	Readable <-chan struct{} // a value may be readable that was not; with it values are dear, and a fill reads no events before its state
	// Gap is the least time between two wake-ups of watchers: the events of a burst reach them together, and the first event after
	// a quiet time at once. Zero: each batch of the store wakes them.
	Gap time.Duration
	// LogReserve has the bytes that the logs of all caches of a process share, beyond those that each log has without it. Nil: they are not bounded together.
	LogReserve *semaphore.Weighted
}

// Cache keeps one resource in memory. It is safe for concurrent use, and serves only while Run runs.
type Cache struct {
	config            Config
	progressRequested chan struct{}           // holds one: a reader waits for the cache to catch up
	filled            chan struct{}           // closed after the first fill
	fanout            *history.Fanout[*event] // for the watchers that are older than the log
	reads             *history.RevisionReads
	checker           *history.ConsistencyChecker

	verifyRequests chan error // holds one; see verifyHistory
	lookBack       etcdstore.Revision
	loading        chan struct{} // holds one while a past snapshot is loaded
	waiters        atomic.Int32  // readers that wait for advanced

	mu          sync.Mutex // guards the fields below, for O(1) or the size of one batch
	ready       bool
	stopped     bool
	generation  int // counts the histories of the store that the cache has served
	liveness    liveness
	counters    Stats              // the counters among its fields
	through     etcdstore.Revision // the cache is complete up to this revision
	current     snapshot           // the state as of through
	log         log
	lookingBack <-chan struct{} // closed when a look back has ended; nil: none that watchers have to wait for
	waitLists   map[wakeKey]*waitList
	notifier    notifier
	indexes     indexes
	advanced    chan struct{}           // closed when through grows; nil: no reader waits
	held        snapshots.Set[snapshot] // that clients read or page through
	watchers    int
	encodings   commonEncodings // of watchers
}

// New makes a cache; Run fills it.
func New(config Config) *Cache {
	if config.Key == nil {
		config.Key = func(path string) string { return config.Prefix + path }
	}
	c := &Cache{
		config:            config,
		progressRequested: make(chan struct{}, 1),
		filled:            make(chan struct{}),

		verifyRequests: make(chan error, 1),
		lookBack:       lookBack,
		loading:        make(chan struct{}, 1),

		waitLists: make(map[wakeKey]*waitList),
		indexes:   make(indexes),
		held:      snapshots.Set[snapshot]{MaxBytes: snapshots.MaxBytes},
	}
	c.held.Mutex = &c.mu
	c.log.reserve = config.LogReserve
	c.fanout = c.newFanout()
	c.reads = history.NewRevisionReads(c.Newest, ErrStopped)
	c.checker = history.NewConsistencyChecker(config.Store, config.Prefix, c.consistencyState, c.reportDifference)
	return c
}

// Filled is closed after the cache has been filled for the first time.
func (c *Cache) Filled() <-chan struct{} { return c.filled }

// Decode makes an object from a key of the resource and its value, whether or not the cache holds it.
func (c *Cache) Decode(kv etcdstore.KV) *Object {
	o := new(Object)
	c.decodeTo(o, nil, kv)
	return o
}

// decodeTo is Decode, with memory for the object and for its document.
func (c *Cache) decodeTo(o *Object, buffer []byte, kv etcdstore.KV) {
	*o = Object{path: c.path(kv.Key), Revision: kv.Modified}
	if kv.Unreadable != nil {
		o.Invalid = kv.Unreadable
	} else {
		o.Object, o.Invalid = c.config.Decode(kv, buffer)
	}
}

func (c *Cache) path(key string) string {
	rest := key[len(c.config.Prefix):]
	if c.config.Path != nil {
		return c.config.Path(rest)
	}
	return rest
}

// decodeAll makes objects from keys in their order, and sorts them by path.
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

// Empty reports whether the cache has no objects: none exist, or it is not filled yet.
func (c *Cache) Empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.objects == nil || c.current.objects.count == 0
}

// Stats are figures for operators.
type Stats struct {
	Ready           bool
	Revision        etcdstore.Revision
	Objects         int // objects with a document
	Invalid         int // values that cannot be decoded, with or without a document
	Watchers        int
	Events          int // in the log
	Inconsistencies int // differences that consistency checks have found
	Bytes           int // of the documents
	Fills           int // reads of the whole state from etcd
	WatchLosses     int // lost watches of etcd
	HistoryReaders  int // watchers that read etcd's history now
	HistoryReads    int // watchers that have read etcd's history
	SnapshotLoads   int // past snapshots that were loaded from etcd
	Snapshots       int // states that clients read or page through
	Dropped         int // of them, because they took too much memory, before their clients had read them
	Filling         Progress
}

// Stats returns the current figures.
func (c *Cache) Stats() Stats {
	readers, _ := c.fanout.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.counters
	s.Dropped = c.held.Dropped
	s.Ready, s.Revision, s.Watchers, s.Events, s.HistoryReaders, s.Snapshots = c.ready, c.through, c.watchers, int(c.log.next-c.log.first), readers, c.held.Len()
	if c.current.objects != nil {
		s.Bytes = c.current.objects.size
		s.Objects, s.Invalid = c.current.objects.count, c.current.invalid.count+c.current.undecoded
	}
	return s
}

// replace installs the whole state after a fill. The log starts anew after floor, and watchers seek again.
func (c *Cache) replace(s snapshot, floor etcdstore.Revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	if c.counters.Fills++; c.counters.Fills == 1 {
		close(c.filled)
	}
	c.current = s
	c.log.reset(floor)
	c.log.state = s.objects.size
	c.advanceLocked(s.revision)
	c.wakeAllLocked()
	c.notifier.published(c.log.next)
	c.notifier.burst = 0 // the log has skipped positions
}

// appendBatch installs the state after one batch, and its events.
func (c *Cache) appendBatch(s snapshot, events []*event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = s
	c.log.state = s.objects.size
	for _, e := range events {
		c.log.append(e)
		c.notifier.add(e)
		if c.notifier.bytes >= maxUnpublished || c.log.next-c.notifier.first >= uint64(len(c.log.ring)/2) {
			c.publishLocked() // before the log drops the event
		}
	}
	c.schedulePublishLocked()
	c.advanceLocked(s.revision)
}

// trimLog makes the log give back memory of events that are older than a trimPeriod.
func (c *Cache) trimLog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log.trim(c.notifier.first)
}

// advanceLocked wakes the readers that wait for a revision. Only a refill from a restored etcd, a new generation, lowers through.
func (c *Cache) advanceLocked(through etcdstore.Revision) {
	c.through = through
	if c.advanced != nil {
		close(c.advanced)
		c.advanced = nil
	}
}

func (c *Cache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.ready = true, false
	c.log.release(0)
	c.wakeAllLocked()
	c.notifier.published(c.log.next)
	c.advanceLocked(c.through)
}

// notReadyLocked is the error of a cache that cannot serve.
func (c *Cache) notReadyLocked() error {
	if c.stopped {
		return ErrStopped
	}
	return &NotReadyError{RetryAfter: time.Second}
}
