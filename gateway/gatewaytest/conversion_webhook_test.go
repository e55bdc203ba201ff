package gatewaytest_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/gateway/gatewaytest"
)

// conversionWebhook converts gadgets: what v1 has in spec.size and spec.count, v2 has in spec.dimensions.size and spec.replicas.
type conversionWebhook struct {
	url       string
	authority []byte

	mu     sync.Mutex
	broken func(*apiextensionsv1.ConversionReview) (code int) // nil: it answers as it should
	calls  int
}

// breakdowns are how a webhook can fail.
var breakdowns = map[string]func(review *apiextensionsv1.ConversionReview) (code int){
	"code 500":      func(*apiextensionsv1.ConversionReview) int { return http.StatusInternalServerError },
	"wrong uid":     func(r *apiextensionsv1.ConversionReview) int { r.Response.UID = "another"; return http.StatusOK },
	"no objects":    func(r *apiextensionsv1.ConversionReview) int { r.Response.ConvertedObjects = nil; return http.StatusOK },
	"failed":        func(r *apiextensionsv1.ConversionReview) int { return failConversion(r, "not today") },
	"failed mutely": func(r *apiextensionsv1.ConversionReview) int { return failConversion(r, "") },
	"no response":   func(r *apiextensionsv1.ConversionReview) int { r.Response = nil; return http.StatusOK },
	"not converted": func(r *apiextensionsv1.ConversionReview) int {
		r.Response.ConvertedObjects = r.Request.Objects
		return http.StatusOK
	},
	"other name":       changeConverted(func(o *unstructured.Unstructured) { o.SetName("renamed") }),
	"other uid":        changeConverted(func(o *unstructured.Unstructured) { o.SetUID("0") }),
	"other kind":       changeConverted(func(o *unstructured.Unstructured) { o.SetKind("Widget") }),
	"other labels":     changeConverted(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"by": "webhook"}) }),
	"other finalizers": changeConverted(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/x"}) }),
	"wrong label":      changeConverted(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"!": "no"}) }),
	"no metadata":      changeConverted(func(o *unstructured.Unstructured) { delete(o.Object, "metadata") }),
}

func failConversion(r *apiextensionsv1.ConversionReview, message string) int {
	r.Response.ConvertedObjects, r.Response.Result = nil, metav1.Status{Status: metav1.StatusFailure, Message: message}
	return http.StatusOK
}

func changeConverted(change func(*unstructured.Unstructured)) func(*apiextensionsv1.ConversionReview) int {
	return func(r *apiextensionsv1.ConversionReview) int {
		for _, o := range r.Response.ConvertedObjects {
			change(o.Object.(*unstructured.Unstructured))
		}
		return http.StatusOK
	}
}

func startConversionWebhook(t *testing.T) *conversionWebhook {
	t.Helper()
	issuer := gatewaytest.NewAuthority(t, "conversion")
	w := &conversionWebhook{authority: issuer.PEM}
	server := httptest.NewUnstartedServer(w)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{issuer.Issue(t, "localhost").TLS(t)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	w.url = "https://localhost" + server.URL[strings.LastIndexByte(server.URL, ':'):]
	return w
}

// fail makes the webhook fail in a way; empty: no more.
func (h *conversionWebhook) fail(how string) { h.breakDown(breakdowns[how]) }

// breakDown makes a function change the answers of the webhook; nil: none.
func (h *conversionWebhook) breakDown(broken func(*apiextensionsv1.ConversionReview) (code int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = broken
}

func (h *conversionWebhook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

func (h *conversionWebhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.calls++
	broken := h.broken
	h.mu.Unlock()
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw.Raw, &object.Object); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		convertGadget(object, review.Request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	if broken != nil {
		if code := broken(review); code != http.StatusOK {
			http.Error(w, "out of order", code)
			return
		}
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review) // the client may have gone
}

// gadgetFields are the paths of the same fields in v1 and in v2.
var gadgetFields = [][2][]string{
	{{"spec", "size"}, {"spec", "dimensions", "size"}},
	{{"spec", "count"}, {"spec", "replicas"}},
	{{"status", "seen"}, {"status", "observed"}},
}

func convertGadget(object *unstructured.Unstructured, to string) {
	if object.GetAPIVersion() == to {
		return
	}
	from, target := 0, 1
	if strings.HasSuffix(to, "/v1") {
		from, target = 1, 0
	}
	values := make([]any, len(gadgetFields))
	for i, paths := range gadgetFields {
		values[i], _, _ = unstructured.NestedFieldNoCopy(object.Object, paths[from]...) // nil: there is none
		unstructured.RemoveNestedField(object.Object, paths[from]...)
	}
	unstructured.RemoveNestedField(object.Object, "spec", "dimensions")
	unstructured.RemoveNestedField(object.Object, "spec", "shape") // which v1 lacks
	for i, paths := range gadgetFields {
		if values[i] != nil {
			_ = unstructured.SetNestedField(object.Object, values[i], paths[target]...) // which these objects can have
		}
	}
	object.SetAPIVersion(to)
}

// gadgetDefinition is the definition of gadgets, which are stored in one of their versions, with the name of a column.
func (h *conversionWebhook) gadgetDefinition(stored, column string) map[string]any {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "integer"}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	version := func(name, size, replicas, seen string, spec, status map[string]any) map[string]any {
		return map[string]any{
			"name": name, "served": true, "storage": name == stored,
			"schema":           map[string]any{"openAPIV3Schema": object(map[string]any{"spec": object(spec), "status": object(status)})},
			"selectableFields": []any{map[string]any{"jsonPath": size}},
			"additionalPrinterColumns": []any{
				map[string]any{"name": column, "type": "string", "jsonPath": size}, map[string]any{"name": "Seen", "type": "integer", "jsonPath": seen}},
			"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": replicas, "statusReplicasPath": seen}},
		}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.shop.example.com"},
		"spec": map[string]any{
			"group": "shop.example.com", "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": h.url + "/convert", "caBundle": h.authority}}},
			"versions": []any{
				version("v1", ".spec.size", ".spec.count", ".status.seen", map[string]any{"size": text, "count": number, "color": map[string]any{"type": "string", "default": "red"}},
					map[string]any{"seen": number}),
				version("v2", ".spec.dimensions.size", ".spec.replicas", ".status.observed",
					map[string]any{"dimensions": object(map[string]any{"size": text}), "replicas": number, "color": text, "shape": map[string]any{"type": "string", "default": "round"}},
					map[string]any{"observed": number}),
			},
		},
	}
}

func gadget(version, name, size string, labels map[string]any) map[string]any {
	spec := map[string]any{"size": size, "count": 3}
	if version == "v2" {
		spec = map[string]any{"dimensions": map[string]any{"size": size}, "replicas": 3}
	}
	metadata := map[string]any{"name": name}
	if labels != nil {
		metadata["labels"] = labels
	}
	return map[string]any{"apiVersion": "shop.example.com/" + version, "kind": "Gadget", "metadata": metadata, "spec": spec}
}
