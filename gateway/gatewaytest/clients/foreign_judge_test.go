package clients

import (
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// judge has the initial content of an etcd, and all later writes to it.
type judge struct {
	etcd    *gatewaytest.Keys
	before  gatewaytest.Dump
	journal *gatewaytest.Journal
}

// newJudge begins with the current content of an etcd.
func newJudge(t *testing.T, etcd *gatewaytest.Keys) *judge {
	t.Helper()
	before := etcd.Dump(t)
	return &judge{etcd: etcd, before: before, journal: etcd.Follow(t, before.Revision)}
}

// check checks that only the allowed writers have written: each later revision is one of their writes, and all other keys have the same
// value, lease and revision.
func (j *judge) check(t *testing.T, may func(gatewaytest.Change) bool) {
	t.Helper()
	after := j.etcd.Dump(t)
	revisions, written := make(map[int64]bool), make(map[string]bool)
	for _, change := range j.journal.UpTo(t, after.Revision) {
		revisions[change.Revision] = true
		if may(change) {
			written[change.Key] = true
			continue
		}
		t.Errorf("%.400s", change)
	}
	if grown := after.Revision - j.before.Revision; grown != int64(len(revisions)) {
		t.Errorf("etcd's revision has grown by %d, and keys were written in %d", grown, len(revisions))
	}
	for _, difference := range j.before.Differences(after, func(key string) bool { return written[key] }) {
		t.Errorf("%.400s", difference)
	}
}

// noWriter allows no writer.
func noWriter(gatewaytest.Change) bool { return false }

// kubernetesLeases are the prefixes of the keys that an idle kube-apiserver writes to show that it runs.
var kubernetesLeases = []string{
	"/registry/leases/kube-system/apiserver-",
	"/registry/masterleases/",
	"/registry/peerserverleases/",
}

// isKubernetesOwn reports whether a kube-apiserver has made a write by itself. It writes protobuf, and revtail JSON.
func isKubernetesOwn(change gatewaytest.Change) bool {
	if change.Key == "compact_rev_key" {
		return true
	}
	isLease := slices.ContainsFunc(kubernetesLeases, func(prefix string) bool { return strings.HasPrefix(change.Key, prefix) })
	return isLease && (change.Deleted || strings.HasPrefix(change.Value, "k8s\x00"))
}

// awaitRest waits until a kube-apiserver writes only its leases, for as long as two of them are renewed.
func awaitRest(t *testing.T, journal *gatewaytest.Journal) {
	t.Helper()
	gatewaytest.Until(t, "a kube-apiserver at rest", func() bool {
		changes, _ := journal.Now(t)
		renewed := 0
		for _, change := range slices.Backward(changes) {
			if !isKubernetesOwn(change) {
				break
			}
			if strings.HasPrefix(change.Key, kubernetesLeases[1]) {
				renewed++
			}
		}
		return renewed >= 2
	})
}

// awaitLeases waits until the objects that a kube-apiserver has written with leases are gone, except for events, which have a lease of an
// hour.
func awaitLeases(t *testing.T, etcd *gatewaytest.Keys) {
	t.Helper()
	gatewaytest.Until(t, "the end of a kube-apiserver's leases", func() bool {
		for key, entry := range etcd.Dump(t).Entries {
			if entry.Lease != 0 && !strings.HasPrefix(key, "/registry/events/") {
				return false
			}
		}
		return true
	})
}
