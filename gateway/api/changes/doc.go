// Package changes reads what a journal has recorded of objects, and describes each change: which fields differ between two states, and which manager
// changed them.
package changes
