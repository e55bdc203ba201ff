// Package recorder follows an etcd, writes its events into a journal, and answers lists and watches of compacted revisions from there. See DESIGN.md of
// package journal.
package recorder
