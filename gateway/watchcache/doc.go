// Package watchcache keeps one resource of an etcd in memory and lets any number of clients list and watch it, for the
// price of one etcd watch.
//
//	Store.List  ──► mirror  the newest state, a copy-on-write B-tree: a snapshot is O(1)
//	Store.Watch ─► log      recent changes, one ring shared by all watchers
//	                ▲ ▲ ▲
//	                cursors one per Watcher: a position, no buffer and no goroutine of its own
//
// Watchers pull, each from its own position; publishing costs the same whatever their number. The log is only a cache of
// etcd's own history: a Watcher that is older than the log reads etcd until it has caught up, and is told that its revision
// expired only when etcd has compacted it. DESIGN.md tells why.
package watchcache
