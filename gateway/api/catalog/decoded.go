package catalog

import (
	"iter"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// Decoded keeps what the objects of a watch cache say, so that only those that have changed are decoded again. The zero value is ready. One goroutine
// uses it.
type Decoded[T any] struct{ known map[string]decoded[T] }

// decoded is what an object says at a revision.
type decoded[T any] struct {
	revision etcdstore.Revision
	value    T
}

// All yields the objects of a list with what decode returns for them.
func (d *Decoded[T]) All(list *watchcache.List, decode func(*watchcache.Object) T) iter.Seq2[*watchcache.Object, T] {
	return func(yield func(*watchcache.Object, T) bool) {
		before := d.known
		d.known = make(map[string]decoded[T], len(before))
		for o := range list.Objects {
			known, ok := before[o.Path()]
			if !ok || known.revision != o.Revision {
				known = decoded[T]{o.Revision, decode(o)}
			}
			d.known[o.Path()] = known
			if !yield(o, known.value) {
				return
			}
		}
	}
}
