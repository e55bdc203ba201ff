package garbage

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"
)

// verdict says what becomes of a key after its turn.
type verdict int

const (
	done  verdict = iota // leaves the queue, unless it was added meanwhile
	again                // has another turn, after all that wait now
	later                // has another turn after a pause, which grows
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

// queue is keys that wait for a turn: first come, first served, each key once.
type queue[K comparable] struct {
	mu      sync.Mutex // guards the fields below
	entries map[K]*entry[K]
	line    *btree.BTreeG[*entry[K]] // those that do not have their turn just now, by due and number
	number  uint64                   // of the newest place in the line
	grown   chan struct{}            // closed and replaced when a key takes a place in the line
}

type entry[K comparable] struct {
	key     K
	due     time.Time // when its turn may come
	number  uint64
	pause   time.Duration // the last one
	running bool          // has its turn
	again   bool          // was added during its turn
	dropped bool          // was dropped during its turn
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

// add gives a key a turn: the next one, if it was pausing; one more, if it has its turn.
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

// drop takes a key out: there is nothing to do for it any more.
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

// take gives the first key that is due its turn; finish ends it.
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

// due reports whether a key waits for its turn, and not only for the end of its pause.
func (q *queue[K]) due() bool {
	due, _, _ := q.look()
	return due
}

// look returns what to wait for when nothing is due: the time until something is, if positive, or a change of the line.
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

// wait waits until something is due. False: ctx ended before.
func (q *queue[K]) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		due, pause, grown := q.look()
		if due {
			return true
		}
		var up <-chan time.Time // nil: there is nothing to wait for but growth
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
