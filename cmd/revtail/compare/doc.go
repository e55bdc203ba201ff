// Package compare compares the objects of two sources.
package compare
