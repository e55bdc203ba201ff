// Package mount shows the keys below a prefix of etcd, which other programs write, as objects of a resource. It maps keys to names and
// values to objects and back, and checks the mounts of a configuration. It has no I/O: packages catalog and storage serve the objects.
package mount
