package gatewaytest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/json"

	"revtail/gateway/gatewaytest"
)

// message is an answer as its bytes.
type message struct {
	code      int
	mediaType string
	body      []byte
}

// TestClusterProtobuf checks that a gateway over the etcd of a kube-apiserver has its answers in protobuf: lists, pages, objects, their
// metadata and tables, and the initial events of watches, of every kind that it serves; and the events of objects that change.
func TestClusterProtobuf(t *testing.T) {
	t.Parallel()
	c := startReplica(t)
	resources := c.resources(t)
	each(t, resources, c.compareMessages)
	c.compareChanges(t)
	t.Logf("%d answers about %d resources compared", c.answers.Load(), len(resources))
}

// compareMessages compares the answers about a resource in protobuf.
func (c *replica) compareMessages(t *testing.T, r replicaResource) {
	t.Helper()
	var list unstructured.UnstructuredList
	c.decode(t, r.path, &list)
	exact := r.path + "?resourceVersionMatch=Exact&resourceVersion=" + list.GetResourceVersion()
	ofObjects, ofLists := []string{asProtobuf, asProtobuf + ",application/json"}, []string{asProtobuf, asProtobuf + ",application/json"}
	watched := []string{asProtobuf + ";stream=watch"}
	if differentTables[r.path] == "" || strings.HasSuffix(r.path, "flowschemas") { // the others differ in the metadata
		ofObjects, ofLists = append(ofObjects, asProtobuf+ofMetadata), append(ofLists, asProtobuf+ofList)
		watched = append(watched, asProtobuf+ofMetadata+";stream=watch")
	}
	for _, accept := range ofLists {
		c.compareMessage(t, exact, accept)
		c.compareMessage(t, exact+"&labelSelector=a", accept)
	}
	c.compareMessage(t, exact+"&limit=1", asProtobuf)
	if differentTables[r.path] == "" {
		c.compareMessage(t, exact, asProtobuf+";as=Table;g=meta.k8s.io;v=v1")
	}
	var none unstructured.Unstructured
	none.SetName("none")
	none.SetNamespace("default")
	for _, item := range append(list.Items, none) {
		for _, accept := range ofObjects {
			c.compareMessage(t, r.pathOf(item), accept)
		}
	}
	watch := r.path + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + list.GetResourceVersion() + "&allowWatchBookmarks=true"
	for _, accept := range watched {
		c.compareFrames(t, watch, accept)
	}
}

// compareMessage compares the answers to a request, which must be equal to the byte but for the seal in the token of a page.
func (c *replica) compareMessage(t *testing.T, path, accept string) {
	t.Helper()
	c.answers.Add(1)
	kube, revtail := c.kube.message(t, path, accept), c.revtail.message(t, path, accept)
	if kube.code == revtail.code && kube.mediaType == revtail.mediaType && bytes.Equal(kube.body, revtail.body) {
		return
	}
	want, got := kube.decode(t), revtail.decode(t)
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("%s %s: (-kube-apiserver +revtail)\n%s", path, accept, difference)
	}
}

// message sends a request and returns the answer as it is.
func (s apiServer) message(t *testing.T, path, accept string) message {
	t.Helper()
	response := s.open(t.Context(), t, path, accept)
	defer func() { _ = response.Body.Close() }() // it has been read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return message{response.StatusCode, response.Header.Get("Content-Type"), body}
}

// open sends a request and returns the response, whose body the caller closes.
func (s apiServer) open(ctx context.Context, t *testing.T, path, accept string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	if s.authorization != "" {
		r.Header.Set("Authorization", s.authorization)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// decode returns the parts of an answer: the code, the media type, what the envelope says, and the object in it.
func (m message) decode(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{"code": m.code, "mediaType": m.mediaType}
	content, inEnvelope := bytes.CutPrefix(m.body, []byte("k8s\x00"))
	if !inEnvelope {
		var body any
		if err := json.Unmarshal(m.body, &body); err != nil {
			body = string(m.body)
		}
		out["body"] = comparable(apiAnswer{Body: body}).Body
		return out
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(content); err != nil {
		t.Fatalf("%v: %.200q", err, m.body)
	}
	out["envelope"] = envelope.TypeMeta
	out["contentType"] = envelope.ContentType + envelope.ContentEncoding
	out["body"] = comparable(apiAnswer{Body: fromProtobuf(t, m.body)}).Body
	return out
}

// compareFrames compares the initial events of watches, up to the bookmark after them.
func (c *replica) compareFrames(t *testing.T, path, accept string) {
	t.Helper()
	c.answers.Add(1)
	kube, revtail := c.kube.frames(t, path, accept, bookmarked), c.revtail.frames(t, path, accept, bookmarked)
	for name := range kube {
		if strings.HasPrefix(name, "kube-system/apiserver-") { // the kube-apiserver renews its Lease
			delete(kube, name)
			delete(revtail, name)
		}
	}
	if difference := cmp.Diff(kube, revtail); difference != "" {
		t.Errorf("%s %s: (-kube-apiserver +revtail)\n%s", path, accept, difference)
	}
}

// bookmarked reports whether an event ends the initial ones.
func bookmarked(event metav1.WatchEvent, _ int) bool {
	return event.Type == "BOOKMARK" || event.Type == "ERROR"
}

// frames returns the events of a watch in protobuf up to the last one that is wanted, by the names of their objects. Of a bookmark only the kind
// counts.
func (s apiServer) frames(t *testing.T, path, accept string, last func(event metav1.WatchEvent, n int) bool) map[string][]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	response := s.open(ctx, t, path, accept)
	defer func() { _ = response.Body.Close() }() // the watch goes on
	out := map[string][]any{"": {response.StatusCode, response.Header.Get("Content-Type")}}
	if response.StatusCode != http.StatusOK {
		return out
	}
	frames, frame := protobuf.LengthDelimitedFramer.NewFrameReader(response.Body), make([]byte, 1<<20)
	for n := 1; ; n++ {
		size, err := frames.Read(frame)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(frame[:size]); err != nil {
			t.Fatal(err)
		}
		object := unstructured.Unstructured{Object: fromProtobuf(t, event.Object.Raw).(map[string]any)}
		name := object.GetNamespace() + "/" + object.GetName()
		if event.Type == "BOOKMARK" { // a kube-apiserver sets further annotations in some
			object.Object = map[string]any{"kind": object.GetKind(), "apiVersion": object.GetAPIVersion(), "end": object.GetAnnotations()[metav1.InitialEventsAnnotationKey]}
		}
		out[name] = append(out[name], event.Type, object.Object)
		if last(event, n) {
			return out
		}
	}
}

// compareChanges compares the events of objects that are created, changed and deleted.
func (c *replica) compareChanges(t *testing.T) {
	t.Helper()
	const pods, events = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/events"
	var list unstructured.UnstructuredList
	c.decode(t, pods+"?limit=1", &list)
	for path, object := range map[string]map[string]any{
		pods:   {"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i:1"}}}},
		events: {"involvedObject": map[string]any{"namespace": "default"}, "reason": "Load"},
	} {
		object["metadata"] = map[string]any{"name": "changed"}
		c.write(t, write(http.MethodPost, path, object))
		c.write(t, mergePatch(path+"/changed", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}))
		c.write(t, write(http.MethodDelete, path+"/changed", nil))
	}
	for _, path := range []string{pods, events, "/apis/events.k8s.io/v1/namespaces/default/events"} {
		for _, accept := range []string{asProtobuf + ";stream=watch", asProtobuf + ofMetadata + ";stream=watch"} {
			watch := path + "?watch=1&resourceVersion=" + list.GetResourceVersion()
			third := func(_ metav1.WatchEvent, n int) bool { return n == 3 }
			c.answers.Add(1)
			if difference := cmp.Diff(c.kube.frames(t, watch, accept, third), c.revtail.frames(t, watch, accept, third)); difference != "" {
				t.Errorf("%s %s: (-kube-apiserver +revtail)\n%s", watch, accept, difference)
			}
		}
	}
}
