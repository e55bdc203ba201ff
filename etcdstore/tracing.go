package etcdstore

import (
	"context"
	"path"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

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
