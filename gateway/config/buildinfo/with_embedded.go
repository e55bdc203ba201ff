//go:build !noembedded

package buildinfo

// Embedded reports whether the program contains an etcd. The build tag noembedded leaves that out.
const Embedded = true
