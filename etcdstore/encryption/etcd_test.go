package encryption_test

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"revtail/etcdstore"
)

// compactor returns a function that compacts an etcd.
func compactor(t *testing.T, kv pb.KVClient) func(etcdstore.Revision) error {
	t.Helper()
	return func(revision etcdstore.Revision) error {
		_, err := kv.Compact(t.Context(), &pb.CompactionRequest{Revision: int64(revision)})
		return err
	}
}
