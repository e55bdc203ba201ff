// Package archive is an etcdstore.Store over a journal that no gateway has open: an export of it, or its directory. The newest revision of the journal is
// the newest state of the store, and each revision, event and time in it can be read.
package archive
