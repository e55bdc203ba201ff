package watchcache

import "revtail/etcdstore"

// mirror is the newest state of the resource. It belongs to the goroutine that runs the cache; others get snapshots.
type mirror struct {
	objects *objects // what can be shown
	invalid *objects // what cannot
}

func newMirror() *mirror { return &mirror{objects: newObjects(), invalid: newObjects()} }

// fill adds what the store lists: keys in their order, greater than all before.
func (m *mirror) fill(kvs []etcdstore.KV, decode func(etcdstore.KV) *Object) {
	valid, invalid := make([]*Object, 0, len(kvs)), []*Object(nil)
	for _, kv := range kvs {
		if o := decode(kv); o.Invalid == nil {
			valid = append(valid, o)
		} else {
			invalid = append(invalid, o)
		}
	}
	m.objects.fill(valid)
	m.invalid.fill(invalid)
}

// get finds what stands at a path; nil: nothing.
func (m *mirror) get(path string) *Object {
	if o := m.objects.get(path); o != nil {
		return o
	}
	return m.invalid.get(path)
}

// set puts an object in the place of previous, the one that get found at its path.
func (m *mirror) set(o, previous *Object) {
	if previous != nil && (previous.Invalid == nil) != (o.Invalid == nil) {
		m.remove(previous)
	}
	m.side(o).set(o)
}

func (m *mirror) remove(o *Object) { m.side(o).remove(o.path) }

func (m *mirror) side(o *Object) *objects {
	if o.Invalid != nil {
		return m.invalid
	}
	return m.objects
}

// snapshot is the state as of a range of revisions, and does not change. It shares memory with the mirror.
type snapshot struct {
	mirror
	since    etcdstore.Revision // of the last change in it
	revision etcdstore.Revision // up to which nothing else changed; a list's resourceVersion
}

func (m *mirror) snapshot(since, revision etcdstore.Revision) snapshot {
	return snapshot{mirror{m.objects.copy(), m.invalid.copy()}, since, revision}
}

// size is how many values it holds.
func (s *snapshot) size() int { return s.objects.count + s.invalid.count }

// covers tells whether the snapshot is the state as of a revision.
func (s *snapshot) covers(revision etcdstore.Revision) bool {
	return s.since <= revision && revision <= s.revision
}
