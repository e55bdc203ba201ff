// Package changes describes changes of objects: which fields differ between two states, and which manager changed them.
package changes
