// Package watchcache keeps one resource of etcd in memory and lets any number of clients list and watch it, for the price of one
// etcd watch.
//
//	Store.List  ──► mirror   the newest state, a copy-on-write B-tree: a snapshot is O(1)
//	Store.Watch ─► log       recent events, one ring that all watchers share
//	                ▲ ▲ ▲
//	                Watcher  a position in the log, without a buffer or goroutine of its own
//
// Watchers pull, each from its own position; appending an event costs the same whatever their number. The log is only a cache of
// etcd's history: a Watcher that is older than the log reads package history until it has caught up, and gets ExpiredError only
// when etcd has compacted its revision. DESIGN.md has the reasons.
//
// Below it, history reads from etcd what the log lacks, filter and selector select objects. Packages api, keys and storage list and watch;
// a cache knows no HTTP.
package watchcache
