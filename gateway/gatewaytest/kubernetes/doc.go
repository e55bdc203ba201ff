// Package kubernetes runs Kubernetes' own conformance tests against the real program, beside kube-controller-manager, kube-scheduler and the nodes
// of KWOK. It runs those that need no container, and writes CONFORMANCE.md: which pass, which fail, and why each of the others is not run.
// `make conformance-kubernetes` builds the suite and runs it.
package kubernetes
