//go:build !noembedded

package embedded

import "go.etcd.io/etcd/server/v3/etcdmain"

// Main runs etcd's own program, with the flags of etcd behind its name in args, as for a program that is started under the name etcd. It
// handles signals, and ends the process on an error.
func Main(args []string) { etcdmain.Main(args) }
