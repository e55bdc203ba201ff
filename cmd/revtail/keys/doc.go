// Package keys has the commands of revtail keys, which read, write and watch the keys of etcd through a gateway.
package keys
