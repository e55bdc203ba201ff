package etcdstore

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Observer is told each request that was made to etcd: its method as Range or Txn, the code of gRPC, and how long it took.
type Observer func(operation, code string, took time.Duration)

// intercept is a gRPC interceptor that tells the observer.
func (o Observer) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if o == nil {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	began := time.Now()
	err := invoke(ctx, method, req, reply, conn, opts...)
	o(path.Base(method), status.Code(err).String(), time.Since(began))
	return err
}
