// Package backend opens the etcd of a configuration, embedded or external, and explains in terms of flags why it cannot be reached.
package backend
