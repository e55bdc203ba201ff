// Package gatewaytest runs the real program for tests: gateways and etcd as processes, a client that shows the bytes on the wire, and
// access to etcd that bypasses the gateway. Its own tests drive the program as a black box; those with unmodified Kubernetes clients are in
// the module clients.
//
// A package that uses it calls Main from its TestMain. Every process that a test starts ends with the test. If the test fails, its log has
// the last output of the processes; with -artifacts all output is kept.
package gatewaytest
