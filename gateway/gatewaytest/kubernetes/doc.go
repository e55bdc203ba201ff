// Package kubernetes runs Kubernetes' own conformance tests against the real program. It runs those that need no controller, no node and
// no running pod, and writes CONFORMANCE.md: which pass, which fail, and why each of the others is not run. `make conformance-kubernetes`
// builds the suite and runs it.
package kubernetes
