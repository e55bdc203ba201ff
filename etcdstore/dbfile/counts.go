package dbfile

import (
	"sync"

	"revtail/etcdstore"
)

// counts says how many keys exist, so that a page of a list costs its own keys and not those after it. It holds one revision, with four
// bytes for each key, because the pages of a list are of one.
type counts struct {
	mu     sync.Mutex
	at     etcdstore.Revision // zero: none is known
	before []uint32           // for each key, and one more: how many keys before it exist
}

// between returns how many keys of x exist at a revision from the place first to before last.
func (c *counts) between(x *index, at etcdstore.Revision, first, last int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at != at {
		c.count(x, at)
	}
	return int64(c.before[last]) - int64(c.before[first])
}

// count counts the keys at a revision. It needs the lock.
func (c *counts) count(x *index, at etcdstore.Revision) {
	before := make([]uint32, len(x.keys)+1)
	for key := range x.keys {
		before[key+1] = before[key]
		if x.at(key, at) >= 0 {
			before[key+1]++
		}
	}
	c.at, c.before = at, before
}
