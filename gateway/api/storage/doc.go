// Package storage gets, lists, creates, updates, patches, applies and deletes objects, with optimistic concurrency. It knows no HTTP: the
// handlers of api parse requests for it. It also gives the garbage collector its view of the objects.
package storage
