// Package clients has the tests of revtail with unmodified clients: client-go's reflector and informers, kubectl, etcdctl, with an embedded
// etcd and with clusters of etcd processes. `make e2e` runs them.
package clients
