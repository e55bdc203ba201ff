// Package diff prints the differences of two JSON documents, line by line.
package diff
