// Package etcdstore reads, writes and watches keys and their history in etcd.
//
// It is the only importer of the client of etcd, and does not know HTTP, JSON or resources. Store is the contract, Etcd the
// implementation, memory the model that tests compare with, storetest the test suite of the contract, embedded an etcd in this
// process. DESIGN.md has the reasons.
package etcdstore
