// Package conformance tests every statement of the list, watch and write protocol against a running server over HTTP: one test for each,
// with the promise as its name.
//
//	go test ./gateway/gatewaytest/conformance                              revtail with an embedded and with an external etcd
//	go test ./gateway/gatewaytest/conformance -args -base=http://host:port any server
//
// -etcd=URL names the etcd behind -base: the tests of compaction need it, and compact it. -long adds tests that take more than a minute. A
// table of all statements is printed at the end (go test shows it with -v, or if it is run in this folder without naming a package).
//
// The statements are about objects with a "color"; fixture_test.go names the kinds with that part, and the differences of kinds.
// Nothing here is linked into the program.
package conformance
