// Package robustness proves the promises of the gateway under fault: real processes of etcd and of the gateway are loaded by
// writers and watched by clients while they are killed, frozen, cut off, compacted, filled and restored. What the clients saw
// is recorded and compared, promise by promise, with etcd's own history. DESIGN.md has the promises and the scenarios.
//
// `make robustness` runs the quick set, `make robustness-long` all of it. `go test` alone proves the validators: each of them
// catches the bugs that are sown into a good history.
package robustness
