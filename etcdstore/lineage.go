package etcdstore

import "sync"

// lineage knows the history of the store from the headers of responses, and what is left of the histories before it.
type lineage struct {
	mu     sync.Mutex // guards the fields below
	id     uint64     // of the cluster; zero: no response yet
	newest Revision   // of this history
	former Revision   // see Store.Former
}

// read records the header of a linearizable read, which alone can begin another history.
func (l *lineage) read(id uint64, newest Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id != id {
		// A client that has read the present history has none of its earlier revisions, but may have the one of this response.
		l.former = max(l.former, min(l.newest, newest-1))
		l.id, l.newest = id, 0
	}
	l.newest = max(l.newest, newest)
}

// saw records a revision in another response, if it is of the present history.
func (l *lineage) saw(id uint64, revision Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id == id {
		l.newest = max(l.newest, revision)
	}
}

// History implements Store. It returns the id of the cluster.
func (e *Etcd) History() uint64 {
	e.lineage.mu.Lock()
	defer e.lineage.mu.Unlock()
	return e.lineage.id
}

// Former implements Store.
func (e *Etcd) Former() Revision {
	e.lineage.mu.Lock()
	defer e.lineage.mu.Unlock()
	return e.lineage.former
}
