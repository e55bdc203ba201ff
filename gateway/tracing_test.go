package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"revtail/etcdstore/memory"
	"revtail/gateway/gatewaytest/rawhttp"
)

// newTracedServer returns a gateway with spans; nil: without.
func newTracedServer(tb testing.TB, tracing trace.TracerProvider) *httptest.Server {
	tb.Helper()
	server, err := New(Options{Store: memory.New(), Prefix: "/registry", Logger: slog.New(slog.DiscardHandler), Tracing: tracing})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx)
	}()
	if err := server.WaitReady(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	front := httptest.NewUnstartedServer(server)
	front.EnableHTTP2 = true
	front.StartTLS()
	tb.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		cancel()
		<-ended
	})
	return front
}

// TestSpanOfAWatchEndsWithItsOpening checks the spans of watches over HTTP/2 and HTTP/1.1, and those of refused and unknown requests.
func TestSpanOfAWatchEndsWithItsOpening(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	front := newTracedServer(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	old := front.Client().Transport.(*http.Transport).Clone()
	old.ForceAttemptHTTP2, old.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
	defer old.CloseIdleConnections()
	for i, client := range []*http.Client{front.Client(), {Transport: old}} {
		response := rawhttp.Get(t, client, front.URL+configMaps+"?watch=1")
		await(t, "the span to end", func() bool { return len(spans.Ended()) == i+1 })
		if response.ProtoMajor != 2-i {
			t.Errorf("the watch is over %s", response.Proto)
		}
	}
	rawhttp.Get(t, front.Client(), front.URL+"/nowhere/at/all")
	rawhttp.Get(t, front.Client(), front.URL+"/livez")
	await(t, "the span to end", func() bool { return len(spans.Ended()) == 3 })
	if name := spans.Ended()[2].Name(); name != "GET" {
		t.Errorf("the span of an unknown path is %q", name)
	}
	if len(spans.Started()) != 3 {
		t.Errorf("%d spans, though a health check has none", len(spans.Started()))
	}
}

// BenchmarkTracing measures a small request without traces, with traces that are not sampled, and with all sampled.
func BenchmarkTracing(b *testing.B) {
	for _, bench := range []struct {
		name    string
		tracing trace.TracerProvider
	}{
		{"off", nil},
		{"none", sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))},
		{"all", sdktrace.NewTracerProvider()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			handler := newTracedServer(b, bench.tracing).Config.Handler
			request := httptest.NewRequest(http.MethodGet, "/version", nil)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(httptest.NewRecorder(), request.Clone(context.Background()))
			}
		})
	}
}
