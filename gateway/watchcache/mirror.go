package watchcache

import "revtail/etcdstore"

// mirror is the newest state of the resource. It belongs to the goroutine that runs the cache; others get snapshots.
type mirror struct {
	objects *objects // what can be shown
	invalid *objects // what cannot

	undecoded int // how many of objects show the bytes of a value that could not be decoded
}

func newMirror() *mirror { return &mirror{objects: newObjects(), invalid: newObjects()} }

// fill adds objects in the order of their paths, which are greater than all before.
func (m *mirror) fill(ordered []*Object) {
	valid, invalid := make([]*Object, 0, len(ordered)), []*Object(nil)
	for _, o := range ordered {
		if o.Shown() {
			valid = append(valid, o)
		} else {
			invalid = append(invalid, o)
		}
		m.count(o, 1)
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
	if previous != nil {
		if previous.Shown() != o.Shown() {
			m.setOf(previous).remove(previous.path)
		}
		m.count(previous, -1)
	}
	m.setOf(o).set(o)
	m.count(o, 1)
}

func (m *mirror) remove(o *Object) {
	m.setOf(o).remove(o.path)
	m.count(o, -1)
}

// count notes that there is one more, or one less, of what an object is.
func (m *mirror) count(o *Object, more int) {
	if o.Invalid != nil && o.Shown() {
		m.undecoded += more
	}
}

func (m *mirror) setOf(o *Object) *objects {
	if !o.Shown() {
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
	return snapshot{mirror{m.objects.copy(), m.invalid.copy(), m.undecoded}, since, revision}
}

// size is how many values it holds.
func (s *snapshot) size() int { return s.objects.count + s.invalid.count }

// covers tells whether the snapshot is the state as of a revision.
func (s *snapshot) covers(revision etcdstore.Revision) bool {
	return s.since <= revision && revision <= s.revision
}
