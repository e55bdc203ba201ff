package garbage

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"
)

// verdict says what happens to a key after a step.
type verdict int

const (
	done  verdict = iota // it leaves the queue, unless it was added meanwhile
	again                // it is queued again, behind all keys that are due
	later                // it is queued again after a pause, which grows
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

// queue has the keys that wait for a step, each key once: first come, first served.
type queue[K comparable] struct {
	mu      sync.Mutex // guards the fields below
	entries map[K]*entry[K]
	line    *btree.BTreeG[*entry[K]] // the entries that are not running, by due and number
	number  uint64                   // of the entry that was added to the line last
	grown   chan struct{}            // closed and replaced when an entry is added to the line
}

type entry[K comparable] struct {
	key     K
	due     time.Time
	number  uint64
	pause   time.Duration // the last one
	running bool          // between take and finish
	again   bool          // added while it runs
	dropped bool          // dropped while it runs
}

func newQueue[K comparable]() *queue[K] {
	before := func(a, b *entry[K]) bool {
		if !a.due.Equal(b.due) {
			return a.due.Before(b.due)
		}
		return a.number < b.number
	}
	return &queue[K]{
		entries: make(map[K]*entry[K]),
		line:    btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}), // mu is the lock
		grown:   make(chan struct{}),
	}
}

// add queues a key. It ends a key's pause, and queues a running key once more.
func (q *queue[K]) add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, now := q.entries[key], time.Now()
	switch {
	case e == nil:
		e = &entry[K]{key: key}
		q.entries[key] = e
		q.lineUpLocked(e, now)
	case e.running:
		e.again, e.dropped = true, false
	case e.due.After(now):
		q.line.Delete(e)
		e.pause = 0
		q.lineUpLocked(e, now)
	}
}

// drop removes a key.
func (q *queue[K]) drop(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[key]
	switch {
	case e == nil:
	case e.running:
		e.again, e.dropped = false, true
	default:
		q.line.Delete(e)
		delete(q.entries, key)
	}
}

func (q *queue[K]) lineUpLocked(e *entry[K], due time.Time) {
	q.number++
	e.due, e.number = due, q.number
	q.line.Set(e)
	close(q.grown)
	q.grown = make(chan struct{})
}

// take returns the first key that is due. The caller calls finish after the step.
func (q *queue[K]) take() (key K, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.line.Min()
	if !ok || e.due.After(time.Now()) {
		return key, false
	}
	q.line.Delete(e)
	e.running, e.again, e.dropped = true, false, false
	return e.key, true
}

// finish does to a key what the verdict of its step says.
func (q *queue[K]) finish(key K, v verdict) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, now := q.entries[key], time.Now()
	e.running = false
	switch {
	case e.dropped, v == done && !e.again:
		delete(q.entries, key)
	case v == later && !e.again:
		e.pause = min(max(2*e.pause, firstPause), maxPause)
		q.lineUpLocked(e, now.Add(e.pause))
	default:
		e.pause = 0
		q.lineUpLocked(e, now)
	}
}

// due reports whether a key is due.
func (q *queue[K]) due() bool {
	due, _, _ := q.look()
	return due
}

// look reports whether a key is due. If none is, it returns the time until one is (zero: the queue is empty), and grown.
func (q *queue[K]) look() (due bool, pause time.Duration, grown <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first, ok := q.line.Min()
	if !ok {
		return false, 0, q.grown
	}
	pause = time.Until(first.due)
	return pause <= 0, pause, q.grown
}

// wait waits until a key is due. False: ctx ended before.
func (q *queue[K]) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		due, pause, grown := q.look()
		if due {
			return true
		}
		var up <-chan time.Time
		if pause > 0 {
			up = time.After(pause)
		}
		select {
		case <-up:
		case <-grown:
		case <-ctx.Done():
		}
	}
	return false
}

// countdown counts, by key, the objects whose deletion a key waits for. The zero value is ready for use.
type countdown[K comparable] struct {
	mu   sync.Mutex // guards left
	left map[K]int
}

// set makes a key wait for n objects; zero: for none.
func (c *countdown[K]) set(key K, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.left, key)
	if n > 0 {
		if c.left == nil {
			c.left = make(map[K]int)
		}
		c.left[key] = n
	}
}

// decrement counts one object of a key, and reports whether it was the last.
func (c *countdown[K]) decrement(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.left[key]
	if n > 1 {
		c.left[key] = n - 1
		return false
	}
	delete(c.left, key)
	return ok
}

func (c *countdown[K]) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.left) == 0
}
