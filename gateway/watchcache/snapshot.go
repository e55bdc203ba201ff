package watchcache

import (
	"context"
	"errors"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/snapshots"
)

// mirror is the newest state of the resource. Only the reflector uses it; readers get snapshots.
type mirror struct {
	objects *objects // with a document
	invalid *objects // without a document

	undecoded int // members of objects that show an undecodable value
}

func newMirror() *mirror { return &mirror{objects: newObjects(), invalid: newObjects()} }

// fill adds objects in the order of their paths, behind all others.
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

// get returns the object of a path; nil: there is none.
func (m *mirror) get(path string) *Object {
	if o := m.objects.get(path); o != nil {
		return o
	}
	return m.invalid.get(path)
}

// set adds an object, or replaces previous, the object of its path.
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

// count adds to the number of undecodable values with a document.
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

// snapshot is the immutable state as of a range of revisions. It shares memory with the mirror.
type snapshot struct {
	mirror
	since    etcdstore.Revision // revision of the last change
	revision etcdstore.Revision // no change followed up to here; the resourceVersion of a list
	loaded   bool               // it was read from etcd
}

func (m *mirror) snapshot(since, revision etcdstore.Revision) snapshot {
	return snapshot{mirror: mirror{m.objects.copy(), m.invalid.copy(), m.undecoded}, since: since, revision: revision}
}

// cost is the memory of the snapshot; zero: the cache was not filled yet.
func (s *snapshot) cost() snapshots.Cost {
	if s.objects == nil {
		return snapshots.Cost{}
	}
	return snapshots.Cost{Size: s.objects.size, Released: s.objects.released, Loaded: s.loaded}
}

// size counts all values, decodable or not.
func (s *snapshot) size() int { return s.objects.count + s.invalid.count }

// covers reports whether the snapshot is the state as of a revision.
func (s *snapshot) covers(revision etcdstore.Revision) bool {
	return s.since <= revision && revision <= s.revision
}

// currentSnapshot is the state that the cache serves, and whether the cache is ready.
func (c *Cache) currentSnapshot() (s snapshot, ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.ready
}

// snapshotAt is the state as of a revision. etcd decides by one small read whether the revision is compacted, so that all replicas
// give the same answer. The state comes from memory if a snapshot covers the revision, else from etcd.
func (c *Cache) snapshotAt(ctx context.Context, at etcdstore.Revision) (*snapshot, error) {
	if err := c.checkRevision(ctx, at); err != nil {
		return nil, err
	}
	if err := CheckRevision(c.config.Store, at); err != nil {
		return nil, err
	}
	if s, ok := c.cachedSnapshot(at); ok {
		return s, nil
	}
	return c.loadSnapshot(ctx, at)
}

func (c *Cache) cachedSnapshot(at etcdstore.Revision) (*snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready && c.current.covers(at) {
		s := c.current
		return &s, true
	}
	s := c.held.Find(func(s *snapshot) bool { return s.covers(at) })
	return s, s != nil
}

// checkRevision fails when etcd has compacted a revision, and waits for a revision that the cache has not reached.
func (c *Cache) checkRevision(ctx context.Context, at etcdstore.Revision) error {
	err := c.probeRevision(ctx, at)
	if _, future := errors.AsType[*etcdstore.FutureError](err); !future {
		return err
	}
	if err := c.WaitUntil(ctx, at); err != nil {
		return err
	}
	return c.probeRevision(ctx, at)
}

func (c *Cache) probeRevision(ctx context.Context, at etcdstore.Revision) error {
	_, err := c.config.Store.List(ctx, c.config.Prefix+"\x00", etcdstore.ListOptions{At: at, Limit: 1})
	return err
}

// loadSnapshot reads the state as of a revision from etcd, and keeps it for the next pages. It reads one state at a time: readers
// of the same state share it, and readers of many states do not fill the memory at once.
func (c *Cache) loadSnapshot(ctx context.Context, at etcdstore.Revision) (*snapshot, error) {
	select {
	case c.loading <- struct{}{}:
		defer func() { <-c.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s, ok := c.cachedSnapshot(at); ok {
		return s, nil
	}
	c.mu.Lock()
	c.held.MakeRoom(c.current.cost().Size, c.current.cost()) // that which is read is about as large
	c.mu.Unlock()
	m, _, err := c.read(ctx, at, func(int, int) {})
	if err != nil {
		return nil, err
	}
	s := m.snapshot(at, at)
	s.loaded = true
	c.mu.Lock()
	s.objects.released = c.current.cost().Released
	c.held.Keep(&s, s.cost(), c.current.cost())
	c.counters.SnapshotLoads++
	c.mu.Unlock()
	return &s, nil
}
