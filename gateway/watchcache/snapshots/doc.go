// Package snapshots bounds the memory of the snapshots that a cache holds for its clients: for those that read one slowly, and for those that page
// through one.
package snapshots
