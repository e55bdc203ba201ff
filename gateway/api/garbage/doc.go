// Package garbage deletes what nobody asked to delete by name: the content of a namespace that is being deleted, and objects
// all of whose owners are gone.
//
//	watch caches ─► graph of owners ──────► queue ─► one replica at a time: verify in etcd, delete
//	             └► terminating namespaces ► queue ─► one replica at a time: walk, delete, remove the namespace
//
// Every replica follows the watch caches and knows what is to be done; an election in etcd, held only while there is
// something to do, decides who does it. DESIGN.md tells why.
package garbage
