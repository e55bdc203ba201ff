// Package envtest makes revtail the control plane of tests that use controller-runtime's envtest: under the name kube-apiserver the program
// takes the flags that envtest gives to a kube-apiserver, and under the name etcd those of etcd.
package envtest

// The names of the programs that envtest starts.
const (
	APIServer = "kube-apiserver"
	Etcd      = "etcd"
)
