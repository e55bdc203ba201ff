// Package etcdstore speaks revisions: keys, values and their history in etcd.
//
// It is the only door to etcd's client, and knows nothing of HTTP, JSON or resources. Store is its contract, Etcd the real
// one, memory the model that tests compare with, storetest the contract as a suite, embedded an etcd in this process.
// DESIGN.md tells why it is as it is.
package etcdstore
