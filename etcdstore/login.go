package etcdstore

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// askedFor is the password that the client has. It logs in only if it has one, and reads it without a lock, so that it cannot be
// given another one.
const askedFor = "asked for at each login"

// login is a gRPC interceptor that gives a login the password of this moment.
func login(password func() string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if attempt, ok := req.(*pb.AuthenticateRequest); ok {
			req = &pb.AuthenticateRequest{Name: attempt.Name, Password: password()}
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}
}
