package gatewaytest

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Lease is a lease of etcd: its keys are deleted when it expires.
type Lease struct {
	etcd *Keys
	id   int64
}

// Grant makes a lease.
func (k *Keys) Grant(tb testing.TB, ttl time.Duration) *Lease {
	tb.Helper()
	answer := call(tb, pb.NewLeaseClient(k.conn).LeaseGrant, &pb.LeaseGrantRequest{TTL: int64(ttl / time.Second)})
	return &Lease{k, answer.ID}
}

// Put writes a key with the lease, and returns the revision.
func (l *Lease) Put(tb testing.TB, key, value string) int64 {
	tb.Helper()
	return call(tb, l.etcd.kv.Put, &pb.PutRequest{Key: []byte(key), Value: []byte(value), Lease: l.id}).Header.Revision
}

// Renew restarts the time of the lease.
func (l *Lease) Renew(tb testing.TB) {
	tb.Helper()
	stream, err := pb.NewLeaseClient(l.etcd.conn).LeaseKeepAlive(tb.Context())
	if err == nil {
		err = stream.Send(&pb.LeaseKeepAliveRequest{ID: l.id})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		tb.Fatalf("etcd: %v", err)
	}
	if answer, err := stream.Recv(); err != nil || answer.TTL == 0 {
		tb.Fatalf("etcd: a lease has expired before its renewal: %v, %v", answer, err)
	}
}
