//go:build noembedded

package buildinfo

// Embedded reports whether the program contains an etcd. The build tag noembedded has left that out.
const Embedded = false
