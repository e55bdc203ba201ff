package history

import "revtail/etcdstore"

// chunk holds the events of one batch of the store, decoded.
type chunk[E any] struct {
	events   []E
	prevLost []etcdstore.Event // events whose previous value etcd has compacted
	through  etcdstore.Revision
	bytes    int
	holders  int
}

func (f *Fanout[E]) decode(batch etcdstore.Batch) *chunk[E] {
	c := &chunk[E]{events: make([]E, 0, len(batch.Events)), through: batch.Through}
	for _, e := range batch.Events {
		if e.PrevLost() {
			c.prevLost = append(c.prevLost, e)
		}
		if event, bytes, ok := f.config.Decode(e); ok {
			c.events = append(c.events, event)
			c.bytes += bytes
		}
	}
	return c
}
