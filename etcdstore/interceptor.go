package etcdstore

import (
	"context"
	"path"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
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

// traced is a gRPC interceptor that records a span for each attempt of a request in a trace, and sends the trace context to etcd.
// Requests of the process itself and the streams of watches, which last for hours, have no trace. A span has the name of the method,
// but no keys and no values.
func traced(provider trace.TracerProvider) grpc.UnaryClientInterceptor {
	tracer := provider.Tracer("revtail/etcdstore")
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return invoke(ctx, method, req, reply, conn, opts...)
		}
		name := strings.TrimPrefix(method, "/")
		ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("rpc.system", "grpc"), attribute.String("rpc.service", path.Dir(name)), attribute.String("rpc.method", path.Base(name))))
		defer span.End()
		header := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, header)
		for key, value := range header {
			ctx = metadata.AppendToOutgoingContext(ctx, key, value)
		}
		err := invoke(ctx, method, req, reply, conn, opts...)
		code := status.Code(err)
		span.SetAttributes(attribute.Int("rpc.grpc.status_code", int(code)))
		if err != nil {
			span.SetStatus(otelcodes.Error, code.String())
		}
		return err
	}
}

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
