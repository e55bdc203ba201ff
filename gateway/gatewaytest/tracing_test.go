package gatewaytest_test

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"revtail/gateway/gatewaytest"
)

// receiver is a collector of traces.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	url string

	mu    sync.Mutex // guards the field below
	spans []*tracepb.Span
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + l.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r
}

// Export implements collector.TraceServiceServer.
func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// of are the spans of a trace, or of any: empty.
func (r *receiver) of(trace string) []*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*tracepb.Span
	for _, span := range r.spans {
		if trace == "" || hex.EncodeToString(span.TraceId) == trace {
			out = append(out, span)
		}
	}
	return out
}

// attribute is what a span says of itself, as JSON.
func attribute(span *tracepb.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			text, _ := protojson.Marshal(a.Value) // shown by a test that fails
			return string(text)
		}
	}
	return ""
}

// TestTraces: each request is a span, and so is what it asks of etcd, in the trace of its client; a watch is one for its opening; at
// SIGTERM what is left is sent; nothing of a query or a value is in any.
func TestTraces(t *testing.T) {
	t.Parallel()
	collected := startReceiver(t)
	gw := gatewaytest.Start(t, "--otlp-endpoint", collected.url)
	const client = "00f067aa0ba902b7"
	traces := map[string]string{"list": strings.Repeat("a1", 16), "create": strings.Repeat("b2", 16), "watch": strings.Repeat("c3", 16), "unsampled": strings.Repeat("d4", 16)}
	ask := func(name, method, path, body, sampled string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, gw.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Traceparent", "00-"+traces[name]+"-"+client+"-"+sampled)
		request.Header.Set("Content-Type", "application/json")
		transport := &http.Transport{DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		if response.StatusCode >= 300 {
			t.Fatalf("%s: %s", name, response.Status)
		}
	}
	ask("list", "GET", configMaps+"?labelSelector=canary", "", "01")
	ask("create", "POST", configMaps, gatewaytest.ConfigMap("a", "canary"), "01")
	ask("unsampled", "GET", configMaps, "", "00")
	ask("watch", "GET", configMaps+"?watch=1&ticket=canary", "", "01")
	gw.Do(t, "GET", "/readyz", "")
	gw.Do(t, "GET", "/apis", "")
	if code := gw.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}

	for name, want := range map[string]struct{ name, etcd, code string }{
		"list":   {"GET /api/{version}/namespaces/{namespace}/{resource}", "etcdserverpb.KV/Range", `{"intValue":"200"}`},
		"create": {"POST /api/{version}/namespaces/{namespace}/{resource}", "etcdserverpb.KV/Txn", `{"intValue":"201"}`},
		"watch":  {"GET /api/{version}/namespaces/{namespace}/{resource}", "etcdserverpb.KV/Range", `{"intValue":"200"}`},
	} {
		spans := collected.of(traces[name])
		if len(spans) != 2 {
			t.Errorf("%s: %v", name, spans)
			continue
		}
		etcd, server := spans[0], spans[1]
		if server.Kind == tracepb.Span_SPAN_KIND_CLIENT {
			etcd, server = server, etcd
		}
		if server.Name != want.name || hex.EncodeToString(server.ParentSpanId) != client || server.Kind != tracepb.Span_SPAN_KIND_SERVER {
			t.Errorf("%s: the span of the request is %v", name, server)
		}
		if etcd.Name != want.etcd || string(etcd.ParentSpanId) != string(server.SpanId) || etcd.Kind != tracepb.Span_SPAN_KIND_CLIENT {
			t.Errorf("%s: the span of the request to etcd is %v", name, etcd)
		}
		if code := attribute(server, "http.response.status_code"); code != want.code {
			t.Errorf("%s: code %s", name, code)
		}
		if path := attribute(server, "url.path"); path != `{"stringValue":"`+configMaps+`"}` {
			t.Errorf("%s: path %s", name, path)
		}
	}
	if spans := collected.of(traces["unsampled"]); len(spans) > 0 {
		t.Errorf("a client that did not want it is traced: %v", spans)
	}
	all := map[string]int{}
	for _, span := range collected.of("") {
		all[span.Name]++
		if strings.Contains(span.String(), "canary") {
			t.Errorf("a secret is in %v", span)
		}
	}
	if len(collected.of("")) != 7 || all["GET /apis"] != 1 {
		t.Errorf("spans %v: want two for each of the three, and one of /apis", all)
	}
}

// TestTracesWithoutACollector: requests do not wait for it, nor does the end, and the log says so.
func TestTracesWithoutACollector(t *testing.T) {
	t.Parallel()
	gone, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--otlp-endpoint", url, "--trace-sampling", "0.5")
	for range 20 {
		if answer := gw.Do(t, "GET", configMaps, ""); answer.Code != 200 {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
	}
	if code := gw.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(gw.Log(t), "traces") {
		t.Error("the log does not say that traces are lost")
	}
}
