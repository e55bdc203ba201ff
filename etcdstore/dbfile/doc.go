// Package dbfile is an etcdstore.Store over the file of an etcd that does not run: a snapshot, or the database of a stopped member. It reads
// and never writes.
package dbfile
