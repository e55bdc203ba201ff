//go:build !noembedded

package embedded

import (
	"context"
	"net"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// local is the API of the member without a connection. It calls the handlers of etcd, with their checks, but no interceptors: a cluster of
// one member needs only their check for a leader, and that of the disk.
type local struct {
	pb.KVClient
	server  pb.KVServer
	watches pb.WatchClient
	member  *etcdserver.EtcdServer
	disk    *disk

	calls  sync.RWMutex    // read-locked during each request and watch
	open   context.Context // ends before the member stops
	ending context.CancelFunc
}

func newLocal(member *etcdserver.EtcdServer, disk *disk) *local {
	l := &local{server: v3rpc.NewQuotaKVServer(member), member: member, disk: disk}
	l.KVClient = adapter.KvServerToKvClient(l.server)
	l.watches = adapter.WatchServerToWatchClient(&localWatches{WatchServer: v3rpc.NewWatchServer(member), local: l})
	l.open, l.ending = context.WithCancel(context.Background()) //nolint:forbidigo // it ends with the member
	return l
}

// Local returns the KV and the watch service without a connection, which saves a third of the cost of a write. They are nil for a member
// with a configuration file, which may have peers or be a learner: only the interceptors of a connection check for that.
func (s *Server) Local() (pb.KVClient, pb.WatchClient) {
	if s.local == nil {
		return nil, nil
	}
	return s.local, s.local
}

// Range implements pb.KVClient.
func (l *local) Range(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (*pb.RangeResponse, error) {
	return call(ctx, l, l.KVClient.Range, in, opts)
}

// Txn implements pb.KVClient.
func (l *local) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	return call(ctx, l, l.KVClient.Txn, in, opts)
}

// Compact implements pb.KVClient.
func (l *local) Compact(ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption) (*pb.CompactionResponse, error) {
	return call(ctx, l, l.KVClient.Compact, in, opts)
}

// call executes a request, unless the member is stopping or has no leader. It sets grpc.Peer if and only if it executes the request, as
// over a connection.
func call[Request, Response any](ctx context.Context, l *local,
	do func(context.Context, Request, ...grpc.CallOption) (Response, error), in Request, opts []grpc.CallOption,
) (out Response, err error) {
	l.calls.RLock()
	defer l.calls.RUnlock()
	switch {
	case ctx.Err() != nil:
		return out, status.FromContextError(ctx.Err()).Err()
	case l.open.Err() != nil:
		return out, rpctypes.ErrGRPCStopped
	case l.member.Leader() == 0:
		return out, rpctypes.ErrGRPCNoLeader
	}
	if err := l.disk.admit(in); err != nil {
		return out, err
	}
	for _, option := range opts {
		if peer, ok := option.(grpc.PeerCallOption); ok {
			peer.PeerAddr.Addr = thisProcess
		}
	}
	return do(ctx, in)
}

// thisProcess is the address of a member without a connection.
var thisProcess = &net.UnixAddr{Name: "this process", Net: "unix"}

// Watch implements pb.WatchClient.
func (l *local) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.open, cancel)
	context.AfterFunc(ctx, func() { stop() })
	return l.watches.Watch(ctx, opts...)
}

// localWatches is the server side of the watches of local.
type localWatches struct {
	pb.WatchServer
	local *local
}

// Watch implements pb.WatchServer.
func (w *localWatches) Watch(stream pb.Watch_WatchServer) error {
	w.local.calls.RLock()
	defer w.local.calls.RUnlock()
	if w.local.open.Err() != nil {
		return rpctypes.ErrGRPCStopped
	}
	return w.WatchServer.Watch(stream)
}

// close refuses new requests, ends the watches, and waits for the requests, because they use the files of the member.
func (l *local) close() {
	l.ending()
	l.calls.Lock()
	defer l.calls.Unlock()
}
