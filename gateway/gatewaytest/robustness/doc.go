// Package robustness tests the promises of the gateway under faults: writers and watching clients load real processes of etcd and of the
// gateway, which are killed, frozen, disconnected, compacted, filled and restored. All events of the clients are compared, promise by
// promise, with etcd's own history. DESIGN.md has the promises and the scenarios.
//
// `make robustness` runs the quick set, `make robustness-long` all scenarios. `go test` alone tests the validators: each of them finds the
// bugs that are put into a good history.
package robustness
