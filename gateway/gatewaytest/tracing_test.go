package gatewaytest_test

import (
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"revtail/gateway/gatewaytest"
)

// TestTraces checks that each request and each of its requests to etcd is a span in the trace of its client, that a watch has one span for
// its opening, that SIGTERM sends the rest, and that no span has a query or a value.
func TestTraces(t *testing.T) {
	t.Parallel()
	for protocol, receive := range map[string]func(*testing.T) *receiver{"grpc": receiveGRPC, "http/protobuf": receiveHTTP} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			testTraces(t, protocol, receive(t))
		})
	}
}

func testTraces(t *testing.T, protocol string, collected *receiver) {
	t.Helper()
	gw := gatewaytest.Start(t, "--otlp-endpoint", collected.url, "--otlp-protocol", protocol)
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
		t.Errorf("a client that disabled tracing is traced: %v", spans)
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

// TestTracesWithoutACollector checks that neither requests nor the end wait for a missing collector, and that the log reports it.
func TestTracesWithoutACollector(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			testWithoutACollector(t, protocol)
		})
	}
}

func testWithoutACollector(t *testing.T, protocol string) {
	t.Helper()
	gone, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--otlp-endpoint", url, "--otlp-protocol", protocol, "--trace-sampling", "0.5")
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
