package watchcache

import "revtail/etcdstore"

// maxPages bounds how many past states one resource keeps for clients that page through it; a page of an older one is read
// from etcd again.
const maxSnapshots = 8

// pages are the most recent states from which pages were served, oldest first. Their trees share nodes with the mirror, so
// one costs what has changed since. Its methods need the cache's lock.
type snapshots []snapshot

func (p *snapshots) add(s snapshot) {
	for _, held := range *p {
		if held.objects == s.objects {
			return
		}
	}
	if len(*p) == maxSnapshots {
		*p = append((*p)[:0:0], (*p)[1:]...)
	}
	*p = append(*p, s)
}

func (p *snapshots) find(at etcdstore.Revision) (snapshot, bool) {
	for i := len(*p) - 1; i >= 0; i-- {
		if (*p)[i].covers(at) {
			return (*p)[i], true
		}
	}
	return snapshot{}, false
}
