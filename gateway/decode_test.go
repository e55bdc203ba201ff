package gateway

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"revtail/encoding/protobuf"
)

const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

var leaseKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// inProtobuf returns a body as typed clients send it.
func inProtobuf(t *testing.T, kind schema.GroupVersionKind, object runtime.Object) string {
	t.Helper()
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kind)
	var body bytes.Buffer
	if err := serializer.NewSerializer(nil, nil).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	return body.String()
}

// asTypedClient returns the headers of a typed client.
var asTypedClient = []string{"Content-Type", protobuf.MediaType, "Accept", protobuf.MediaType + ",application/json"}

// fromProtobuf returns the members of an answer in protobuf, which has the empty ones of its kind too.
func fromProtobuf(t *testing.T, a answer) map[string]any {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != protobuf.MediaType {
		t.Fatalf("%d %s: %s", a.code, got, a.body)
	}
	object, err := protobuf.Decode([]byte(a.body))
	if err != nil {
		t.Fatalf("%d %q: %v", a.code, a.body, err)
	}
	return object
}

// decodedAny returns the members of an answer in JSON or protobuf.
func (a answer) decodedAny(t *testing.T) map[string]any {
	t.Helper()
	if a.header.Get("Content-Type") == protobuf.MediaType {
		return fromProtobuf(t, a)
	}
	return a.json(t)
}

func lease(holder, resourceVersion string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: resourceVersion},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}
}

// TestProtobufBodies checks that a typed client can create, replace and delete an object of a built-in kind, and gets protobuf.
func TestProtobufBodies(t *testing.T) {
	s := newTestServer(t)
	send := func(method, path string, kind schema.GroupVersionKind, object runtime.Object, code int) map[string]any {
		t.Helper()
		a := s.do(method, path, inProtobuf(t, kind, object), asTypedClient...)
		if a.code != code {
			t.Fatalf("%s %s: %d %s, want %d", method, path, a.code, a.body, code)
		}
		if strings.Contains(a.body, "LeaseList") {
			return nil // Decode does not know lists, because no client sends one
		}
		return fromProtobuf(t, a)
	}
	created := send(http.MethodPost, leases, leaseKind, lease("one", ""), http.StatusCreated)
	first := created["metadata"].(map[string]any)["resourceVersion"].(string)
	if holder := created["spec"].(map[string]any)["holderIdentity"]; holder != "one" {
		t.Errorf("created: %v", created)
	}
	send(http.MethodPut, leases+"/a", leaseKind, lease("two", first), http.StatusOK)
	send(http.MethodPut, leases+"/a", leaseKind, lease("three", first), http.StatusConflict)
	send(http.MethodPut, leases+"/a", leaseKind, lease("three", ""), http.StatusUnprocessableEntity)

	options := leaseKind.GroupVersion().WithKind("DeleteOptions")
	send(http.MethodDelete, leases+"/a", options, &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}, http.StatusConflict)
	send(http.MethodDelete, leases+"/a", options, &metav1.DeleteOptions{}, http.StatusOK)
	send(http.MethodPost, leases, leaseKind, lease("one", ""), http.StatusCreated)
	send(http.MethodDelete, leases, options, &metav1.DeleteOptions{DryRun: []string{"All"}}, http.StatusOK)
	send(http.MethodDelete, leases, options, &metav1.DeleteOptions{}, http.StatusOK)
	if a := s.get(leases + "/a"); a.code != http.StatusNotFound {
		t.Errorf("after it was deleted: %d %s", a.code, a.body)
	}
}

// TestProtobufBodiesRefused checks that a body of another kind than its URL is refused, also without field validation.
func TestProtobufBodiesRefused(t *testing.T) {
	s := newTestServer(t)
	whole := inProtobuf(t, leaseKind, lease("one", ""))
	for _, tt := range []struct {
		name, method, body string
		message            string
	}{
		{"JSON", http.MethodPost, `{"kind":"Lease"}`, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"},
		{"empty", http.MethodPost, "", "provided data does not appear to be a protobuf message"},
		{"another kind", http.MethodPost, inProtobuf(t, corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{}), "does not match"},
		{"unknown kind", http.MethodPost, inProtobuf(t, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, lease("", "")),
			`no kind "Widget" is known in protobuf`},
		{"truncated", http.MethodPost, whole[:len(whole)-1], "protobuf parse error"},
		{"not options", http.MethodDelete, whole, "must be of kind DeleteOptions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.do(tt.method, leases+"?fieldValidation=Strict", tt.body, asTypedClient...)
			if a.code != http.StatusBadRequest || !strings.Contains(a.body, tt.message) {
				t.Errorf("%d %s, want %q", a.code, a.body, tt.message)
			}
		})
	}
	a := s.do(http.MethodPost, leases+"?fieldValidation=Strict", whole, asTypedClient...)
	if a.code != http.StatusCreated {
		t.Errorf("strict: %d %s", a.code, a.body)
	}
}
