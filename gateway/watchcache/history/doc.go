// Package history reads, compares and fans out what etcd knows of one key prefix: the events of past revisions, the newest
// revision, and whether the data that was served is still the data of the store.
//
// The package knows etcd's keys and revisions, but no objects: its caller says how an event is decoded and which keys a reader
// sees. DESIGN.md has the reasons.
package history
