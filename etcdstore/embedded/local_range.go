//go:build !noembedded

package embedded

import (
	"context"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// RangeStream implements pb.KVClient. The stream ends with its context.
func (l *local) RangeStream(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (pb.KV_RangeStreamClient, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.open, func() { cancel(nil) })
	s := &localRange{ctx: ctx, messages: make(chan *pb.RangeStreamResponse)}
	go func() {
		_, err := call(ctx, l, func(_ context.Context, in *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
			return nil, l.server.RangeStream(in, localRangeServer{client: s})
		}, in, opts)
		stop()
		if err == nil {
			err = io.EOF
		}
		cancel(err)
	}()
	return s, nil
}

// localRange is a stream of keys without a connection.
type localRange struct {
	grpc.ClientStream // none: only the methods below are called

	ctx      context.Context //nolint:containedctx // that of the stream; its cause is the error of the member, or io.EOF
	messages chan *pb.RangeStreamResponse
}

// Recv implements pb.KV_RangeStreamClient.
func (s *localRange) Recv() (*pb.RangeStreamResponse, error) {
	select {
	case message := <-s.messages:
		return message, nil
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

// localRangeServer is the side of the member.
type localRangeServer struct {
	grpc.ServerStream // none

	client *localRange
}

// Context implements grpc.ServerStream.
func (s localRangeServer) Context() context.Context { return s.client.ctx }

// Send implements pb.KV_RangeStreamServer.
func (s localRangeServer) Send(message *pb.RangeStreamResponse) error {
	select {
	case s.client.messages <- message:
		return nil
	case <-s.client.ctx.Done():
		return s.client.ctx.Err()
	}
}
