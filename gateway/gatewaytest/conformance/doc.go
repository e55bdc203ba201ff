// Package conformance tries a running server, over real HTTP, on every statement of the list-watch-write protocol: one test
// for each, which carries the promise as its name.
//
//	go test ./gateway/gatewaytest/conformance                              revtail with an embedded and with an external etcd
//	go test ./gateway/gatewaytest/conformance -args -base=http://host:port any server
//
// -etcd=URL names the etcd behind -base: what compaction does is tried only with it, and it is compacted. -long adds what
// takes more than a minute. A table of all statements is printed at the end (go test shows it with -v, or when it is run in
// this folder without naming a package).
//
// The statements speak of objects with a "color"; fixture_test.go says which kinds play that part, and where kinds differ by
// nature. All of it is tests: nothing here is linked into the program.
package conformance
