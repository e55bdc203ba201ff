package gatewaytest_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"revtail/gateway/gatewaytest"
)

const (
	asProtobuf = "application/vnd.kubernetes.protobuf"
	ofMetadata = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	ofList     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	// deprecatedGeneration is an annotation that kube-apiserver sets in the objects that it shows, but not in their metadata.
	deprecatedGeneration = "deprecated.daemonset.template.generation"
)

// protobufScheme has the kinds that the tests decode.
var protobufScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubernetesscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}()

// fromProtobuf decodes an answer in protobuf as client-go does, to the members that its JSON has.
func fromProtobuf(t *testing.T, message []byte) any {
	t.Helper()
	object, _, err := protobuf.NewSerializer(protobufScheme, protobufScheme).Decode(message, nil, nil)
	if err != nil {
		t.Fatalf("%v: %.200q", err, message)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// toProtobuf encodes an object as client-go does.
func toProtobuf(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	typed, err := protobufScheme.New(object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		t.Fatal(err)
	}
	typed.GetObjectKind().SetGroupVersionKind(object.GroupVersionKind())
	var body bytes.Buffer
	if err := protobuf.NewSerializer(protobufScheme, protobufScheme).Encode(typed, &body); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

// send sends a request with a body as it is, and returns the answer with its media type. A watch is read until the bookmark that ends its
// initial events.
func (s apiServer) send(t *testing.T, method, path, mediaType, accept string, body []byte) (answer apiAnswer, contentType string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": mediaType, "Accept": accept, "Authorization": s.authorization} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, contentType = apiAnswer{Code: response.StatusCode}, response.Header.Get("Content-Type")
	if contentType == asProtobuf+";stream=watch" {
		answer.Body = readInitialEvents(t, response.Body)
		return answer, contentType
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType == asProtobuf {
		answer.Body = fromProtobuf(t, content)
	} else if json.Unmarshal(content, &answer.Body) != nil {
		answer.Body = string(content)
	}
	return answer, contentType
}

// readInitialEvents reads the events of a watch in protobuf up to the bookmark that ends the initial ones.
func readInitialEvents(t *testing.T, body io.ReadCloser) (events []any) {
	t.Helper()
	frames := protobuf.LengthDelimitedFramer.NewFrameReader(body)
	frame := make([]byte, 1<<20)
	for {
		n, err := frames.Read(frame)
		if err != nil {
			t.Fatal(err)
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(frame[:n]); err != nil {
			t.Fatal(err)
		}
		object := fromProtobuf(t, event.Object.Raw)
		events = append(events, map[string]any{"type": event.Type, "object": object})
		if event.Type == "BOOKMARK" || event.Type == "ERROR" {
			return events
		}
	}
}

// TestProtobuf checks that a gateway gives the answers of a kube-apiserver in protobuf: about the objects of testdata/kinds.yaml, when they
// are created from protobuf, read, listed, watched and deleted, and about what has no protobuf form.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	c := startComparison(t)
	compared := 0
	for _, object := range gatewaytest.ReadManifest(t, "testdata/kinds.yaml") {
		t.Run(object.GetKind()+"/"+object.GetName(), func(t *testing.T) {
			compared++
			c.of(t, object).tryProtobuf()
		})
	}
	t.Run("negotiation", func(t *testing.T) { c.tryMediaTypes(t) })
	t.Run("discovery", func(t *testing.T) { c.tryDiscovery(t) })
	t.Logf("%d answers about %d objects compared", c.answers, compared)
}

// tryProtobuf compares the answers in protobuf about the object, and those of the gateway with its own in JSON.
func (o *objectComparison) tryProtobuf() {
	o.t.Helper()
	manager := "?fieldManager=test"
	o.tryMessage("create", http.MethodPost, o.collection+manager, asProtobuf, asProtobuf, toProtobuf(o.t, o.object))
	o.tryMessage("get", http.MethodGet, o.path, "", asProtobuf, nil)
	o.tryMessage("metadata", http.MethodGet, o.path, "", asProtobuf+ofMetadata, nil)
	one := "?fieldSelector=metadata.name%3D" + o.object.GetName()
	o.tryMessage("list", http.MethodGet, o.collection+one, "", asProtobuf, nil)
	o.tryMessage("list of metadata", http.MethodGet, o.collection+one, "", asProtobuf+ofList, nil)
	watch := o.collection + one + "&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=5"
	o.tryMessage("watch", http.MethodGet, watch, "", asProtobuf+";stream=watch,application/json", nil)
	o.tryMessage("watch of metadata", http.MethodGet, watch, "", asProtobuf+ofMetadata+",application/json", nil)
	o.tryMessage("patch", http.MethodPatch, o.path+manager, "application/merge-patch+json", asProtobuf+",application/json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	o.tryMessage("table", http.MethodGet, o.path, "", asProtobuf+";as=Table;g=meta.k8s.io;v=v1", nil)
	o.tryMessage("create again", http.MethodPost, o.collection+manager, asProtobuf, asProtobuf, toProtobuf(o.t, o.object))
	o.tryJSON()
	options, err := (&metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground), GracePeriodSeconds: new(int64(0))}).Marshal()
	if err != nil {
		o.t.Fatal(err)
	}
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Raw: options}).Marshal()
	if err != nil {
		o.t.Fatal(err)
	}
	o.tryMessage("delete", http.MethodDelete, o.path, asProtobuf, asProtobuf, append([]byte("k8s\x00"), envelope...))
	o.tryMessage("get of nothing", http.MethodGet, o.path, "", asProtobuf, nil)
}

// tryMessage compares the answers to one request, with their media types.
func (o *objectComparison) tryMessage(what, method, path, mediaType, accept string, body []byte) {
	o.t.Helper()
	kube, kubeType := o.kube.send(o.t, method, path, mediaType, accept, body)
	revtail, revtailType := o.revtail.send(o.t, method, path, mediaType, accept, body)
	if kubeType != revtailType {
		o.t.Errorf("%s: kube-apiserver answers with %s, revtail with %s", what, kubeType, revtailType)
	}
	for _, answer := range []*apiAnswer{&kube, &revtail} {
		dropVersions(answer.Body)
		if !strings.HasPrefix(kubeType, asProtobuf) || method == http.MethodDelete && answer.Code == http.StatusOK {
			answer.Body = nil // TestKinds compares JSON; of a few kinds kube-apiserver shows what it has deleted, and revtail a Status
		}
		answer.Body = o.normalizedParts(*answer)
	}
	o.compare(what, kube, revtail)
}

// normalizedParts returns the body of an answer, in which the objects of events and lists are normalized as that of an answer is.
func (o *objectComparison) normalizedParts(a apiAnswer) any {
	if events, ok := a.Body.([]any); ok {
		parts := make([]any, len(events))
		for i, event := range events {
			parts[i] = o.normalizedEvent(event.(map[string]any))
		}
		return map[string]any{"events": parts}
	}
	body, _ := a.Body.(map[string]any)
	items, _ := body["items"].([]any)
	for i := range items {
		item := items[i].(map[string]any)
		item["kind"] = strings.TrimSuffix(body["kind"].(string), "List")
		items[i] = o.normalizedObject(item)
	}
	return o.normalizedObject(body)
}

// normalizedEvent returns the type and the object of an event. Of bookmarks only the metadata counts: kube-apiserver sets replicas in some.
func (o *objectComparison) normalizedEvent(event map[string]any) any {
	object := event["object"].(map[string]any)
	if event["type"] == "BOOKMARK" {
		delete(object, "spec")
		unstructured.RemoveNestedField(object, "metadata", "annotations", deprecatedGeneration)
	}
	return []any{event["type"], o.normalizedObject(object)}
}

// normalizedObject returns an object without what kube-apiserver decides after it has made metadata of it.
func (o *objectComparison) normalizedObject(object map[string]any) any {
	if kind, _ := object["kind"].(string); kind == "PartialObjectMetadata" && o.object != nil {
		unstructured.RemoveNestedField(object, "metadata", "annotations", deprecatedGeneration)
		if annotations, _, _ := unstructured.NestedMap(object, "metadata", "annotations"); len(annotations) == 0 {
			unstructured.RemoveNestedField(object, "metadata", "annotations")
		}
		if slices.Contains([]string{"Service", "CertificateSigningRequest", "DaemonSet"}, o.object.GetKind()) { // see apiAnswer.normalized
			unstructured.RemoveNestedField(object, "metadata", "managedFields")
		}
	}
	return apiAnswer{Body: object}.normalized(o.started).Body
}

// dropVersions removes every resourceVersion from a JSON value.
func dropVersions(value any) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			dropVersions(v[i])
		}
	case map[string]any:
		delete(v, "resourceVersion")
		for key := range v {
			dropVersions(v[key])
		}
	}
}

// tryJSON compares what Go reads from the answer of the gateway in JSON with what it reads from that in protobuf.
func (o *objectComparison) tryJSON() {
	o.t.Helper()
	inProtobuf, _ := o.revtail.send(o.t, http.MethodGet, o.path, "", asProtobuf, nil)
	inJSON, _ := o.revtail.send(o.t, http.MethodGet, o.path, "", "application/json", nil)
	read := &unstructured.Unstructured{Object: inJSON.Body.(map[string]any)}
	inJSON.Body = fromProtobuf(o.t, toProtobuf(o.t, read))
	o.compare("JSON and protobuf", inJSON, inProtobuf)
}

// tryMediaTypes compares what servers answer to Accept headers, for a built-in kind, for a custom resource and for other documents.
func (c *comparison) tryMediaTypes(t *testing.T) {
	t.Helper()
	o := &objectComparison{comparison: c, t: t}
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",` +
		`"names":{"plural":"widgets","kind":"Widget"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,` +
		`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	const widgets = "/apis/example.com/v1/namespaces/default/widgets"
	for _, server := range []apiServer{c.kube, c.revtail} {
		server.send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", "", []byte(definition))
		gatewaytest.Until(t, "a served custom resource", func() bool {
			answer, _ := server.send(t, http.MethodPost, widgets+"?fieldManager=test", "application/json", "",
				[]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`))
			return answer.Code == http.StatusCreated
		})
		server.send(t, http.MethodPost, "/api/v1/namespaces/default/configmaps?fieldManager=test", "application/json", "",
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w","labels":{"only":"this"}}}`))
	}
	objects := []string{
		"/api/v1/namespaces/default/configmaps/w", "/api/v1/namespaces/default/configmaps/none", widgets + "/w", widgets + "/none",
		"/apis/apps/v1/namespaces/default/deployments/none/scale",
	}
	lists := []string{"/api/v1/namespaces/default/configmaps?labelSelector=only", widgets}
	for _, accept := range []string{
		asProtobuf, asProtobuf + ",application/json", asProtobuf + ";q=0.5,application/json;q=0.4", "application/json," + asProtobuf, "*/*",
		asProtobuf + ";stream=watch", asProtobuf + ";stream=bogus", "text/html", asProtobuf + ";drop=metadata.managedFields", asProtobuf + strings.Replace(ofMetadata, "v=v1", "v=v2", 1),
		asProtobuf + ";as=Table;g=meta.k8s.io;v=v1", asProtobuf + ";as=Table;g=meta.k8s.io;v=v1," + asProtobuf,
	} {
		o.tryMediaType(accept, slices.Concat(objects, lists))
	}
	for _, beta := range []string{"", "beta1"} {
		o.tryMediaType(asProtobuf+ofMetadata+beta, slices.Concat(objects, lists))
		o.tryMediaType(asProtobuf+ofMetadata+beta+",application/json", objects)
		o.tryMediaType(asProtobuf+ofList+beta, lists)
	}
	if o.differences > mostPrinted {
		t.Errorf("%d more answers differ", o.differences-mostPrinted)
	}
}

// tryDiscovery compares the media types and kinds of discovery documents in protobuf, because their content differs.
func (c *comparison) tryDiscovery(t *testing.T) {
	t.Helper()
	envelope := func(server apiServer, path string) (contentType, kind string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", asProtobuf)
		r.Header.Set("Authorization", server.authorization)
		response, err := server.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		var unknown runtime.Unknown
		if err := unknown.Unmarshal(bytes.TrimPrefix(content, []byte("k8s\x00"))); err != nil {
			t.Fatalf("%s: %v: %.200q", path, err, content)
		}
		return response.Header.Get("Content-Type"), unknown.Kind // kube-apiserver leaves out some versions
	}
	for _, path := range []string{"/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"} {
		kubeType, kube := envelope(c.kube, path)
		revtailType, revtail := envelope(c.revtail, path)
		if kubeType != revtailType || kube != revtail {
			t.Errorf("%s: %s of %s, and kube-apiserver answers with %s of %s", path, revtailType, revtail, kubeType, kube)
		}
	}
}

func (o *objectComparison) tryMediaType(accept string, paths []string) {
	o.t.Helper()
	for _, path := range paths {
		o.tryMessage(accept+" of "+path, http.MethodGet, path, "", accept, nil)
	}
}
