package gatewaytest_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector of traces.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	url string

	mu    sync.Mutex // guards the field below
	spans []*tracepb.Span
}

// receiveGRPC starts a receiver of OTLP over gRPC.
func receiveGRPC(t *testing.T) *receiver {
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

// receiveHTTP starts a receiver of OTLP over HTTP, below a path.
func receiveHTTP(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	mux := http.NewServeMux()
	mux.Handle("POST /otlp/v1/traces", r)
	mux.HandleFunc("/", func(w http.ResponseWriter, asked *http.Request) {
		t.Errorf("the collector is asked %s %s", asked.Method, asked.URL)
		http.NotFound(w, asked)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.url = server.URL + "/otlp"
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	answer, err := r.receive(asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer) // a client that has gone does not need it
}

func (r *receiver) receive(asked *http.Request) ([]byte, error) {
	if kind := asked.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		return nil, fmt.Errorf("content type %q", kind)
	}
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return nil, err
	}
	request := new(collector.ExportTraceServiceRequest)
	if err = proto.Unmarshal(body, request); err != nil {
		return nil, err
	}
	answer, err := r.Export(asked.Context(), request)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
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

// of returns the spans of a trace, or of all: empty.
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

// attribute returns an attribute of a span, as JSON.
func attribute(span *tracepb.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			text, _ := protojson.Marshal(a.Value) // for the message of a failing test
			return string(text)
		}
	}
	return ""
}
