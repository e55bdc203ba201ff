package etcdstore_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// fakeEtcd is a gRPC server with the responses of a test, which a real etcd gives rarely.
type fakeEtcd struct {
	pb.UnimplementedKVServer
	pb.UnimplementedWatchServer

	txns atomic.Int32 // transactions received

	onRange func(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error)
	onTxn   func(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error)
	onWatch func(pb.Watch_WatchServer) error

	onStream func(*pb.RangeRequest, pb.KV_RangeStreamServer) error
}

func (f *fakeEtcd) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return f.onRange(ctx, r)
}

func (f *fakeEtcd) RangeStream(r *pb.RangeRequest, s pb.KV_RangeStreamServer) error {
	return f.onStream(r, s)
}

func (f *fakeEtcd) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	f.txns.Add(1)
	return f.onTxn(ctx, r)
}

func (f *fakeEtcd) Watch(s pb.Watch_WatchServer) error { return f.onWatch(s) }

// serve runs the server until the test ends and returns its address.
func (f *fakeEtcd) serve(t *testing.T) string {
	t.Helper()
	l := listen(t)
	s := grpc.NewServer()
	pb.RegisterKVServer(s, f)
	pb.RegisterWatchServer(s, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// deadAddress returns an address without a listener.
func deadAddress(t *testing.T) string {
	t.Helper()
	l := listen(t)
	defer l.Close()
	return l.Addr().String()
}

// silentAddress returns an address whose connections are accepted and never answered, as by a frozen process.
func silentAddress(t *testing.T) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
