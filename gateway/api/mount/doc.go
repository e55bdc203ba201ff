// Package mount shows the keys below a prefix of etcd, which other programs write, as objects of a resource: what the
// configuration says of a mount (mount.go), how keys are names (name.go), and how values are objects and become values again
// (object.go, schema.go).
package mount
