package gatewaytest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

// TestAdmission checks that a gateway decides about writes as a kube-apiserver does, by the policies of testdata/admission.yaml and by webhooks: with
// the same code, message, causes, warnings and resulting object.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := startComparison(t)
	url, authority := startWebhook(t)
	both := func(request apiRequest, want int) {
		t.Helper()
		for _, server := range []apiServer{c.kube, c.revtail} {
			if answer := server.do(t, request); answer.Code != want {
				t.Fatalf("%s %s at %s: %d, want %d\n%v", request.method, request.path, server.url, answer.Code, want, answer.Body)
			}
		}
	}
	both(write(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetDefinition), http.StatusCreated)
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(t, "a served custom resource", func() bool { return server.do(t, read(admissionKinds[2].collection)).Code == http.StatusOK })
	}
	for _, object := range gatewaytest.ReadManifest(t, "testdata/admission.yaml") {
		both(write(http.MethodPost, c.of(t, object).collection, object.Object), http.StatusCreated)
	}
	for _, configuration := range webhookConfigurations(url, authority) {
		both(write(http.MethodPost, c.of(t, &unstructured.Unstructured{Object: configuration}).collection, configuration), http.StatusCreated)
	}
	for _, server := range []apiServer{c.kube, c.revtail} {
		tries := func(rule string) apiAnswer {
			return server.do(t, write(http.MethodPost, admissionKinds[0].collection+"?dryRun=All", admissionKinds[0].object("canary", "rule", rule)))
		}
		gatewaytest.Until(t, "policies in force", func() bool {
			return tries("canary").Code == http.StatusUnprocessableEntity && strings.Contains(fmt.Sprint(tries("marked").Body), "patched")
		})
	}
	for _, kind := range admissionKinds {
		for _, rule := range []string{"forbidden", "invalid", "warned", "limited", "lost", "failing", "ignored", "surroundings", "kept", "marked"} {
			t.Run(kind.name+"/rule/"+rule, func(t *testing.T) { c.tryAdmission(t, kind, "rule", rule) })
		}
		for hook := range hooks {
			t.Run(kind.name+"/hook/"+hook, func(t *testing.T) { c.tryAdmission(t, kind, "hook", hook) })
		}
	}
	const least = 500
	if t.Logf("%d answers compared", c.answers); c.answers < least {
		t.Errorf("%d answers compared, want at least %d", c.answers, least)
	}
}

// tryAdmission compares the answers to writes of an object that a policy or a webhook decides about, by its label.
func (c *comparison) tryAdmission(t *testing.T, kind admissionKind, label, value string) {
	t.Helper()
	o := &objectComparison{comparison: c, t: t}
	name := label + "-" + value
	path, as := kind.collection+"/"+name, "?fieldManager=test"
	decided, plain := kind.object(name, label, value), kind.object(name, "plain", "yes")
	annotated := (&unstructured.Unstructured{Object: decided}).DeepCopy()
	annotated.SetAnnotations(map[string]string{"note": "x"})
	three := annotated.DeepCopy()
	three.SetLabels(map[string]string{label: value, "kept": "yes", "c": "3"})
	labels := func(v any) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{label: v}}}
	}

	o.try("create dry", write(http.MethodPost, kind.collection+as+dryRun, decided))
	o.try("create annotated dry", write(http.MethodPost, kind.collection+as+dryRun, annotated.Object))
	o.try("create with three labels dry", write(http.MethodPost, kind.collection+as+dryRun, three.Object))
	o.try("create", write(http.MethodPost, kind.collection+as, decided))
	o.try("apply", applyPatch(kind.collection+"/"+name+"-applied?fieldManager=applier", kind.object(name+"-applied", label, value)))
	o.try("create plain", write(http.MethodPost, kind.collection+as, plain))
	o.try("patch into", mergePatch(path+as, labels(value)))
	o.try("put", write(http.MethodPut, path+as, annotated.Object))
	o.try("patch out", mergePatch(path+as, labels(nil)))
	o.try("apply over", applyPatch(path+"?fieldManager=applier&force=true", decided))
	if kind.scale {
		o.try("scale", mergePatch(path+"/scale"+as+dryRun, map[string]any{"spec": map[string]any{"replicas": 2}}))
	}
	o.try("read", read(path))
	o.try("delete dry", write(http.MethodDelete, path+as+dryRun, nil))
	o.try("delete", write(http.MethodDelete, path, nil))
	o.tryDeleteCollection(kind.collection + "?labelSelector=" + label + "=" + value)
	o.try("read at the end", read(path))
}

// tryDeleteCollection compares the answers to the deletion of a collection. Lists differ in their revisions.
func (o *objectComparison) tryDeleteCollection(path string) {
	o.t.Helper()
	kube, revtail := o.kube.do(o.t, write(http.MethodDelete, path, nil)), o.revtail.do(o.t, write(http.MethodDelete, path, nil))
	if kube.Code == http.StatusOK {
		kube.Body, revtail.Body = countItems(kube.Body), countItems(revtail.Body)
	}
	o.compare("delete collection", kube, revtail)
}

func countItems(list any) any {
	object, _ := list.(map[string]any)
	items, _ := object["items"].([]any)
	return len(items)
}

// admissionKind is a kind of which objects are written.
type admissionKind struct {
	name, apiVersion, kind, collection string
	spec                               any
	scale                              bool
}

var admissionKinds = []admissionKind{
	{name: "configmaps", apiVersion: "v1", kind: "ConfigMap", collection: "/api/v1/namespaces/default/configmaps"},
	{name: "deployments", apiVersion: "apps/v1", kind: "Deployment", collection: "/apis/apps/v1/namespaces/default/deployments", scale: true,
		spec: map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "a"}}, "template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "a"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}},
	{name: "widgets", apiVersion: "shop.example.com/v1", kind: "Widget", collection: "/apis/shop.example.com/v1/namespaces/default/widgets", scale: true,
		spec: map[string]any{"replicas": int64(1)}},
}

func (k admissionKind) object(name, label, value string) map[string]any {
	object := map[string]any{"apiVersion": k.apiVersion, "kind": k.kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{label: value, "kept": "yes"}}}
	if k.spec != nil {
		object["spec"] = k.spec
	}
	return object
}

// widgetDefinition is the definition of a kind with a default and a scale.
var widgetDefinition = map[string]any{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.shop.example.com"},
	"spec": map[string]any{
		"group": "shop.example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"subresources": map[string]any{"scale": map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{
					"replicas": map[string]any{"type": "integer"}, "size": map[string]any{"type": "string", "default": "small"}}},
				"status": map[string]any{"type": "object", "properties": map[string]any{"replicas": map[string]any{"type": "integer"}}},
			}}},
		}},
	},
}
