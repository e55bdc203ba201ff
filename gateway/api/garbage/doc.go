// Package garbage deletes the content of namespaces that are being deleted, and objects whose owners are all gone.
//
//	watch caches ─► graph of owners ──────► queue ─► one replica at a time: verify in etcd, delete
//	             └► terminating namespaces ► queue ─► one replica at a time: walk, delete, remove the namespace
//
// Every replica follows the watch caches and finds the work; an election in etcd, held only while there is work, selects the replica that
// does it. Package storage gives it access to objects. DESIGN.md has the reasons.
package garbage
