// Package keyrange parses requests of the keys API: the keys of etcd that a URL names, its query, and transactions. Policy decides which
// keys the flags open. The package does no I/O.
package keyrange
