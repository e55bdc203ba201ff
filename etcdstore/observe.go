package etcdstore

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Observer is called after each request to etcd, with its method, such as Range or Txn, its gRPC code and its duration.
type Observer func(operation, code string, took time.Duration)

// intercept is a gRPC interceptor that calls the observer.
func (o Observer) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if o == nil {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	began := time.Now()
	err := invoke(ctx, method, req, reply, conn, opts...)
	o(path.Base(method), status.Code(err).String(), time.Since(began))
	return err
}
