package etcdstore

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// placeholder is the password of the client, which login replaces. The client logs in only if it has a password, and reads it without a
// lock, so that it cannot be changed.
const placeholder = "replaced at each login"

// login is a gRPC interceptor that sends the current password.
func login(password func() string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if attempt, ok := req.(*pb.AuthenticateRequest); ok {
			req = &pb.AuthenticateRequest{Name: attempt.Name, Password: password()}
		}
		return invoke(ctx, method, req, reply, conn, opts...)
	}
}
