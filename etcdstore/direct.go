package etcdstore

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// direct is the KV service of an etcd in this process. It observes and traces requests like a connection, but never retries, because
// there is no network.
type direct struct {
	pb.KVClient
	open      context.Context // ends with Close of the store, which also ends requests
	intercept grpc.UnaryClientInterceptor
}

func newDirect(open context.Context, cfg Config) *direct {
	return &direct{KVClient: cfg.KV, open: open, intercept: cfg.Observe.intercept(cfg.Tracing)}
}

// Range implements pb.KVClient.
func (d *direct) Range(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (*pb.RangeResponse, error) {
	return call(ctx, d, pb.KV_Range_FullMethodName, d.KVClient.Range, in, opts)
}

// Txn implements pb.KVClient.
func (d *direct) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	return call(ctx, d, pb.KV_Txn_FullMethodName, d.KVClient.Txn, in, opts)
}

// Compact implements pb.KVClient.
func (d *direct) Compact(ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption) (*pb.CompactionResponse, error) {
	return call(ctx, d, pb.KV_Compact_FullMethodName, d.KVClient.Compact, in, opts)
}

// call makes a request through the interceptors.
func call[Request, Response any](ctx context.Context, d *direct, method string,
	do func(context.Context, Request, ...grpc.CallOption) (Response, error), in Request, opts []grpc.CallOption,
) (out Response, err error) {
	if closed := d.open.Err(); closed != nil {
		return out, status.FromContextError(closed).Err()
	}
	err = d.intercept(ctx, method, in, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
		out, err = do(ctx, in, opts...)
		return err
	}, opts...)
	return out, err
}
