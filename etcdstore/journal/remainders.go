package journal

import (
	"sync"

	"revtail/etcdstore"
)

// maxRemainders is how many positions remainders knows.
const maxRemainders = 256

// position is where a page of a list begins.
type position struct {
	number        uint32 // of the range
	prefix, after string
	at            etcdstore.Revision
}

// remainders remembers how many keys followed the last pages of lists: to count them takes a search for each key, and the next page need not repeat it.
type remainders struct {
	mu    sync.Mutex
	known map[position]int64
	order []position // the oldest first
}

func newRemainders() *remainders { return &remainders{known: make(map[position]int64)} }

// get returns how many keys there are from a position on; false: that is not known.
func (r *remainders) get(p position) (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.known[p]
	return n, ok
}

// put remembers how many keys there are from a position on, and forgets the oldest position when there are too many.
func (r *remainders) put(p position, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[p]; !ok {
		r.order = append(r.order, p)
	}
	r.known[p] = n
	if len(r.order) > maxRemainders {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
}
