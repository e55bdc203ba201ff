package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/encoding/protobuf"
	"revtail/etcdstore/memory"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watch/transport"
)

const watchInProtobuf = protobuf.MediaType + ";stream=watch"

// protobufEvent is an event of a watch with the object in its envelope.
type protobufEvent struct {
	Type   string
	Object map[string]any
	kind   string
	status metav1.Status // of an ERROR
}

func readEvent(t *testing.T, message []byte) (e protobufEvent) {
	t.Helper()
	var event metav1.WatchEvent
	if err := event.Unmarshal(message); err != nil {
		t.Fatalf("%v: %q", err, message)
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(bytes.TrimPrefix(event.Object.Raw, []byte("k8s\x00"))); err != nil {
		t.Fatalf("%v: %q", err, event.Object.Raw)
	}
	e.Type, e.kind = event.Type, unknown.Kind
	if unknown.Kind == "Status" {
		if err := e.status.Unmarshal(unknown.Raw); err != nil {
			t.Fatal(err)
		}
		return e
	}
	object, err := protobuf.Decode(event.Object.Raw)
	if err != nil {
		t.Fatal(err)
	}
	e.Object = object
	return e
}

// readEvents reads the frames of a body.
func readEvents(t *testing.T, body string) (events []protobufEvent) {
	t.Helper()
	for frames := []byte(body); len(frames) > 0; {
		if len(frames) < 4 || int(binary.BigEndian.Uint32(frames)) > len(frames)-4 {
			t.Fatalf("a frame of %d bytes is cut", len(frames))
		}
		end := 4 + int(binary.BigEndian.Uint32(frames))
		events = append(events, readEvent(t, frames[4:end]))
		frames = frames[end:]
	}
	return events
}

// eventsInJSON returns the events of a watch in JSON.
func eventsInJSON(t *testing.T, body string) (events []protobufEvent) {
	t.Helper()
	for line := range strings.Lines(body) {
		event := answer{body: line}.json(t)
		events = append(events, protobufEvent{Type: event["type"].(string), Object: event["object"].(map[string]any)})
	}
	return events
}

// TestProtobufWatch checks that a watch has the same events in protobuf as in JSON, over each transport.
func TestProtobufWatch(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.create("first")
	patch := `{"data":{"a":"b"}}`
	s.do(http.MethodPatch, configMaps+"/first", patch, "Content-Type", "application/merge-patch+json")
	s.create("second")
	s.do(http.MethodDelete, configMaps+"/first", "")
	path := configMaps + "?watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=1"
	want := eventsInJSON(t, s.get(path).body)
	if len(want) != 5 || want[4].Type != "BOOKMARK" {
		t.Fatalf("in JSON: %v", want)
	}
	for name, read := range map[string]func() []protobufEvent{
		"HTTP/1.1": func() []protobufEvent {
			a := s.get(path, "Accept", watchInProtobuf)
			if a.header.Get("Content-Type") != watchInProtobuf {
				t.Errorf("Content-Type: %v", a.header)
			}
			return readEvents(t, a.body)
		},
		"a list of media types": func() []protobufEvent {
			return readEvents(t, s.get(path, "Accept", protobuf.MediaType+",application/json;q=0.9").body)
		},
		"gzip": func() []protobufEvent {
			a := s.get(path, "Accept", watchInProtobuf, "Accept-Encoding", "gzip")
			r, err := gzip.NewReader(strings.NewReader(a.body))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return readEvents(t, string(body))
		},
		"WebSocket": func() (events []protobufEvent) {
			socket := rawhttp.DialWebSocket(t, s.url+path+"&accept="+url.QueryEscape(watchInProtobuf), nil)
			for range want {
				kind, message, err := socket.Read(t.Context())
				if err != nil || kind != websocket.MessageBinary {
					t.Fatalf("%v, %v", kind, err)
				}
				events = append(events, readEvent(t, message))
			}
			return events
		},
		"HTTP/2": func() []protobufEvent { return readEvents(t, overHTTP2(t, s, path)) },
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, withoutEmpty(read()), cmp.AllowUnexported(protobufEvent{})); diff != "" {
				t.Errorf("-JSON +protobuf:\n%s", diff)
			}
		})
	}
}

// withoutEmpty returns events as those in JSON are.
func withoutEmpty(events []protobufEvent) []protobufEvent {
	for i := range events {
		events[i].kind = ""
	}
	return events
}

// overHTTP2 returns the body of a watch in protobuf over HTTP/2.
func overHTTP2(t *testing.T, s *testServer, path string) string {
	t.Helper()
	front := httptest.NewUnstartedServer(s.server)
	front.Listener, front.EnableHTTP2 = transport.Listen(front.Listener), true
	http2.Configure(front.Config)
	front.StartTLS()
	defer front.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", watchInProtobuf)
	a, err := front.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil || a.ProtoMajor != 2 {
		t.Fatalf("%s, %v", a.Proto, err)
	}
	return string(body)
}

// TestProtobufOfAnotherKind checks that an object that is not of its kind, as another program may write it, leaves as JSON, or is an error
// that names it.
func TestProtobufOfAnotherKind(t *testing.T) {
	t.Parallel()
	store := memory.New()
	s := serveStore(t, store)
	good := s.create("good")
	store.Txn(map[string][]byte{"/registry/configmaps/default/none": []byte(`{"metadata":{},"data":"none"}`)}, nil)
	await(t, "the object", func() bool { return s.get(configMaps+"/none").code == http.StatusOK })
	const named = `configmaps "default/none" cannot be encoded in protobuf`
	for _, path := range []string{configMaps, configMaps + "/none"} {
		if a := s.get(path, "Accept", protobuf.MediaType+",application/json"); a.code != http.StatusOK || !strings.Contains(a.body, `"data":"none"`) {
			t.Errorf("%s, protobuf or JSON: %d %s", path, a.code, a.body)
		}
		if a := s.get(path, "Accept", protobuf.MediaType); a.code != http.StatusInternalServerError || !strings.Contains(a.body, named) {
			t.Errorf("%s, protobuf: %d %q", path, a.code, a.body)
		}
		metadata := ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io," + protobuf.MediaType + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
		if a := s.get(path, "Accept", protobuf.MediaType+metadata); a.code != http.StatusOK || !strings.Contains(a.body, "none") {
			t.Errorf("%s, metadata: %d %q", path, a.code, a.body)
		}
	}
	for query, before := range map[string]int{"sendInitialEvents=true&resourceVersionMatch=NotOlderThan": 1, "resourceVersion=" + good: 0} {
		a := s.get(configMaps+"?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&"+query, "Accept", watchInProtobuf)
		events := readEvents(t, a.body)
		if len(events) != before+1 || events[before].Type != "ERROR" || events[before].status.Code != http.StatusInternalServerError ||
			!strings.Contains(events[before].status.Message, named) {
			t.Errorf("%s: %+v", query, events)
		}
	}
}

// TestProtobufFields checks that a projection applies to protobuf too.
func TestProtobufFields(t *testing.T) {
	s := newTestServer(t)
	s.do(http.MethodPost, configMaps, `{"metadata":{"name":"a"},"data":{"a":"b","c":"d"}}`)
	got := fromProtobuf(t, s.get(configMaps+"/a?fields=data.a", "Accept", protobuf.MediaType))
	if diff := cmp.Diff(map[string]any{"a": "b"}, got["data"]); diff != "" {
		t.Errorf("%v", diff)
	}
}

// TestProtobufDiscovery checks that discovery documents have a protobuf form, with all that JSON has.
func TestProtobufDiscovery(t *testing.T) {
	s := newTestServer(t)
	for path, kind := range map[string]string{"/api": "APIVersions", "/apis": "APIGroupList", "/apis/apps": "APIGroup", "/apis/apps/v1": "APIResourceList"} {
		a := s.get(path, "Accept", protobuf.MediaType)
		var unknown runtime.Unknown
		if err := unknown.Unmarshal([]byte(strings.TrimPrefix(a.body, "k8s\x00"))); err != nil || unknown.Kind != kind || a.header.Get("Content-Type") != protobuf.MediaType {
			t.Fatalf("%s: %v %v %v", path, err, unknown.TypeMeta, a.header)
		}
		if kind != "APIResourceList" {
			continue
		}
		var list metav1.APIResourceList
		if err := list.Unmarshal(unknown.Raw); err != nil || len(list.APIResources) != len(s.get(path).json(t)["resources"].([]any)) {
			t.Errorf("%s: %v %v", path, err, list)
		}
	}
}
