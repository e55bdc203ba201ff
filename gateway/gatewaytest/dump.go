package gatewaytest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Dump is the whole content of an etcd at a revision, by key.
type Dump struct {
	Revision int64
	Entries  map[string]Entry
}

// Entry is a key's value, and its metadata in etcd.
type Entry struct {
	Value                             string
	Created, Modified, Version, Lease int64
}

// Dump reads the whole etcd.
func (k *Keys) Dump(tb testing.TB) Dump {
	tb.Helper()
	const page = 500
	dump := Dump{Entries: make(map[string]Entry)}
	for from := "\x00"; ; {
		answer := call(tb, k.kv.Range, &pb.RangeRequest{Key: []byte(from), RangeEnd: []byte{0}, Revision: dump.Revision, Limit: page})
		if dump.Revision == 0 {
			dump.Revision = answer.Header.Revision
		}
		for _, kv := range answer.Kvs {
			dump.Entries[string(kv.Key)] = Entry{string(kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version, kv.Lease}
			from = string(kv.Key) + "\x00"
		}
		if !answer.More {
			return dump
		}
	}
}

// Differences returns a line for each key that differs in a later dump, except for keys that may change.
func (d Dump) Differences(later Dump, mayChange func(key string) bool) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(d.Entries)) {
		before := d.Entries[key]
		after, ok := later.Entries[key]
		switch {
		case mayChange(key), ok && before == after:
		case !ok:
			out = append(out, key+" is gone")
		case before.Value != after.Value:
			out = append(out, fmt.Sprintf("%s was changed: %q, before %q", key, after.Value, before.Value))
		default:
			before.Value, after.Value = "", ""
			out = append(out, fmt.Sprintf("%s was written again: %+v, before %+v", key, after, before))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(later.Entries)) {
		if _, ok := d.Entries[key]; !ok && !mayChange(key) {
			out = append(out, fmt.Sprintf("%s is new: %q", key, later.Entries[key].Value))
		}
	}
	return out
}
