// Package envtest runs the test suites of other projects, which start a control plane with controller-runtime's envtest, on the real program
// and on a kube-apiserver, and writes ENVTEST.md: how many tests pass on each, and how long they take. `make envtest` runs it; the suites come
// from their Go modules.
package envtest
