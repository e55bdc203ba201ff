// Package garbage deletes the content of terminating namespaces, and objects whose owners are all gone.
//
//	watch caches ─► graph of owners ──────► queue ─► one replica at a time: verify in etcd, delete
//	             └► terminating namespaces ► queue ─► one replica at a time: walk, delete, remove the namespace
//
// Each replica follows the watch caches and queues the work. An election in etcd, which exists only while there is work, decides which
// replica does it. DESIGN.md has the reasons.
package garbage
