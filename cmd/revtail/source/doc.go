// Package source reads the objects of a file of etcd or of a server, at a revision.
package source
