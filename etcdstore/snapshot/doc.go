// Package snapshot writes the database of an etcd to a file, says what such a file contains, and makes a data directory of it.
package snapshot
