package gatewaytest

import (
	"context"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Keys is an etcd without the gateway, as another program uses it. It uses plain gRPC, so that no mistake of the gateway's own client can
// hide.
type Keys struct {
	conn *grpc.ClientConn
	kv   pb.KVClient
}

// DialEtcd connects to an etcd. The connection is closed with the test.
func DialEtcd(tb testing.TB, endpoint string) *Keys {
	tb.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(endpoint, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &Keys{conn, pb.NewKVClient(conn)}
}

// call makes one request, and fails the test on an error.
func call[Q, A any](tb testing.TB, method func(context.Context, *Q, ...grpc.CallOption) (*A, error), request *Q) *A {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Patience)
	defer cancel()
	answer, err := method(ctx, request)
	if err != nil {
		tb.Fatalf("etcd: %v", err)
	}
	return answer
}

// Revision returns the newest revision, read from the cluster's majority.
func (k *Keys) Revision(tb testing.TB) int64 {
	tb.Helper()
	return call(tb, k.kv.Range, &pb.RangeRequest{Key: []byte("absent"), CountOnly: true}).Header.Revision
}

// Writes returns the number of revisions, read from the cluster's majority, without those in which a gateway wrote its timeline.
func (k *Keys) Writes(tb testing.TB) int64 {
	tb.Helper()
	const prefix, end = "revtail/times/", "revtail/times0"
	points := call(tb, k.kv.Range, &pb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(end), KeysOnly: true})
	writes := points.Header.Revision
	for _, kv := range points.Kvs {
		writes -= kv.Version
	}
	return writes
}

// Get returns a key's value and the revision that last changed it; zero: there is no such key.
func (k *Keys) Get(tb testing.TB, key string) (value string, modified int64) {
	tb.Helper()
	for _, kv := range call(tb, k.kv.Range, &pb.RangeRequest{Key: []byte(key)}).Kvs {
		return string(kv.Value), kv.ModRevision
	}
	return "", 0
}

// All returns every key of the etcd.
func (k *Keys) All(tb testing.TB) []string {
	tb.Helper()
	var keys []string
	for _, kv := range call(tb, k.kv.Range, &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}, KeysOnly: true}).Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// Put writes keys and values, given in turn, in one transaction, and returns its revision.
func (k *Keys) Put(tb testing.TB, keysAndValues ...string) int64 {
	tb.Helper()
	txn := &pb.TxnRequest{}
	for i := 0; i < len(keysAndValues); i += 2 {
		put := &pb.PutRequest{Key: []byte(keysAndValues[i]), Value: []byte(keysAndValues[i+1])}
		txn.Success = append(txn.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}})
	}
	return call(tb, k.kv.Txn, txn).Header.Revision
}

// Delete deletes a key and returns the revision.
func (k *Keys) Delete(tb testing.TB, key string) int64 {
	tb.Helper()
	return call(tb, k.kv.DeleteRange, &pb.DeleteRangeRequest{Key: []byte(key)}).Header.Revision
}

// Compact makes etcd compact everything before a revision.
func (k *Keys) Compact(tb testing.TB, revision int64) {
	tb.Helper()
	call(tb, k.kv.Compact, &pb.CompactionRequest{Revision: revision, Physical: true})
}
