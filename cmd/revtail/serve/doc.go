// Package serve has the command serve: it opens the files, etcd, the gateway and the listeners of a configuration, and runs and
// drains them.
package serve
