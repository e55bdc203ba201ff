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
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Observer is called after each request to etcd, with its method, such as Range or Txn, its gRPC code and its duration.
type Observer func(operation, code string, took time.Duration)

// intercept returns a gRPC interceptor that calls the observer, and records a span for each attempt of a request in a trace, whose
// context it sends to etcd. Requests of the process itself and the streams of watches, which last for hours, have no trace. A span has the
// name of the method, but no keys and no values.
func (o Observer) intercept(provider trace.TracerProvider) grpc.UnaryClientInterceptor {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	if o == nil {
		o = func(string, string, time.Duration) {}
	}
	tracer := provider.Tracer("revtail/etcdstore")
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		end := func(codes.Code) {}
		if trace.SpanFromContext(ctx).IsRecording() {
			ctx, end = startSpan(ctx, tracer, strings.TrimPrefix(method, "/"))
		}
		began := time.Now()
		err := invoke(ctx, method, req, reply, conn, opts...)
		code := status.Code(err)
		end(code)
		o(path.Base(method), code.String(), time.Since(began))
		return err
	}
}

// startSpan returns the context of a request and the function that ends its span.
func startSpan(ctx context.Context, tracer trace.Tracer, method string) (context.Context, func(codes.Code)) {
	ctx, span := tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("rpc.system", "grpc"), attribute.String("rpc.service", path.Dir(method)), attribute.String("rpc.method", path.Base(method))))
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	for key, value := range header {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx, func(code codes.Code) {
		span.SetAttributes(attribute.Int("rpc.grpc.status_code", int(code)))
		if code != codes.OK {
			span.SetStatus(otelcodes.Error, code.String())
		}
		span.End()
	}
}

type failFastKey struct{}

// failingFast returns a context whose requests fail at the first failed connection. Others wait for a connection until they end.
func failingFast(ctx context.Context) context.Context {
	return context.WithValue(ctx, failFastKey{}, true)
}

// failFast is a gRPC interceptor for failingFast. It replaces the code Unavailable, for which the client tries again, for seconds.
func failFast(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if ctx.Value(failFastKey{}) == nil {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	err := invoke(ctx, method, req, reply, conn, append(opts, grpc.WaitForReady(false))...)
	if status.Code(err) == codes.Unavailable {
		return status.Error(codes.Aborted, status.Convert(err).Message())
	}
	return err
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
