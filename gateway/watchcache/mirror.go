package watchcache

import (
	"github.com/tidwall/btree"

	"revtail/etcdstore"
)

// mirror is the newest state of the resource. It belongs to the goroutine that runs the cache; others get snapshots.
type mirror struct {
	objects *btree.BTreeG[*Object] // what can be shown
	invalid *btree.BTreeG[*Object] // what cannot
}

func newMirror() *mirror {
	options := btree.Options{NoLocks: true} // one owner; a snapshot is never written to
	return &mirror{
		objects: btree.NewBTreeGOptions(byPath, options),
		invalid: btree.NewBTreeGOptions(byPath, options),
	}
}

// get finds what stands at a path; nil: nothing.
func (m *mirror) get(path string) *Object {
	key := &Object{path: path}
	if o, ok := m.objects.Get(key); ok {
		return o
	}
	o, _ := m.invalid.Get(key)
	return o
}

// set puts an object in the place of previous, the one that get found at its path.
func (m *mirror) set(o, previous *Object) {
	if previous != nil && (previous.Invalid == nil) != (o.Invalid == nil) {
		m.remove(previous)
	}
	m.side(o).Set(o)
}

func (m *mirror) remove(o *Object) { m.side(o).Delete(o) }

func (m *mirror) side(o *Object) *btree.BTreeG[*Object] {
	if o.Invalid != nil {
		return m.invalid
	}
	return m.objects
}

// snapshot is the state as of a range of revisions, and does not change. Its trees share their nodes with the mirror.
type snapshot struct {
	mirror
	since    etcdstore.Revision // of the last change in it
	revision etcdstore.Revision // up to which nothing else changed; a list's resourceVersion
}

func (m *mirror) snapshot(since, revision etcdstore.Revision) snapshot {
	return snapshot{mirror{m.objects.Copy(), m.invalid.Copy()}, since, revision}
}

// size is how many values it holds.
func (s *snapshot) size() int { return s.objects.Len() + s.invalid.Len() }

// covers tells whether the snapshot is the state as of a revision.
func (s *snapshot) covers(revision etcdstore.Revision) bool {
	return s.since <= revision && revision <= s.revision
}

// ascend calls yield for the objects of a tree within a scope whose paths are greater than after, in the order of their
// paths, until yield returns false.
func ascend(tree *btree.BTreeG[*Object], in scope, after string, yield func(*Object) bool) {
	if o, ok := tree.Get(&Object{path: in.name}); ok && in.namespace == "" && o.path > after { // a cluster-wide object
		yield(o)
		return
	}
	start := max(in.path(), after)
	tree.Ascend(&Object{path: start}, func(o *Object) bool {
		if after != "" && o.path <= after {
			return true
		}
		if !in.holdsPath(o.path) {
			return false
		}
		return !in.contains(o) || yield(o)
	})
}
