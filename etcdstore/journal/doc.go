// Package journal keeps the events of an etcd on disk, so that they can be read after etcd has compacted them: every state of every key since
// the journal began, with the time at which each event arrived. See DESIGN.md.
package journal
