// Package soak runs two gateways on three members of etcd for a long time, with clients of all kinds, writers, reloads, compactions and members
// that are killed. It measures the gateways by the minute, and judges at the end whether anything grows. The load, and the check of all that
// clients get, are those of package robustness.
//
// `make soak` takes an hour; ARGS="-for 24h" is for another time.
package soak
