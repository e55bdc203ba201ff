// Package keys has the handlers of the keys API, /v1/keys and /v1/txn, which read, write and watch any key of etcd in any format.
//
// It checks every range against the rules and flags before it calls etcd, and keeps a cache for each watched set of ranges. The packages
// below it do no HTTP: keyrange parses keys, ranges and transactions, and timeline finds the revision of a time.
package keys
