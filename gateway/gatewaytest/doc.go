// Package gatewaytest runs the real program for tests: gateways and etcd as processes, a client that shows the bytes on the
// wire, and a door to etcd that is not the gateway's. The tests beside it drive the program as a black box; those with
// unmodified Kubernetes clients are in the module clients.
//
// A package that uses it calls Main from its TestMain. Whatever a test starts ends with it; when the test fails, what the
// processes said last is in its log, and with -artifacts all of it is kept.
package gatewaytest
