package gatewaytest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"revtail/gateway/gatewaytest"
)

// TestConversionOutage checks that a webhook that does not answer keeps nothing from its work but the versions that it converts, over a restart of the
// gateway: not the start, the stored version, the garbage collector, the deletion of a namespace and that of the definition.
func TestConversionOutage(t *testing.T) {
	t.Parallel()
	webhook := startConversionWebhook(t)
	released := make(chan struct{})
	release := func() { close(released) }
	defer func() { release() }()
	webhook.breakDown(func(*apiextensionsv1.ConversionReview) int {
		<-released
		return http.StatusServiceUnavailable
	})
	gw := gatewaytest.Start(t)
	text := func(object any) string {
		encoded, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	code := func(method, path string) int { return gw.Do(t, method, path, "").Code }
	definition := definitions + "/gadgets.shop.example.com"
	gw.Create(t, definitions, text(webhook.gadgetDefinition("v1", "Size")))
	stored := collectionIn("v1")
	gatewaytest.Until(t, "the stored version", func() bool { return code(http.MethodGet, stored) == http.StatusOK })
	watch := gw.Watch(t, stored+"?watch=1")
	gw.Create(t, stored, text(gadget("v1", "one", "large", nil)))
	if event := watch.Next(t); event.Type != "ADDED" {
		t.Errorf("the stored version has the event %s", event.Type)
	}

	gw.Stop(t)
	gw.Restart(t)
	if got := code(http.MethodGet, stored+"/one"); got != http.StatusOK {
		t.Errorf("the stored version after a restart: %d", got)
	}
	owner := gw.Create(t, "/api/v1/namespaces/default/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owner"}}`)
	dependent := gadget("v1", "dependent", "large", nil)
	dependent["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.Metadata.UID}}
	gw.Create(t, stored, text(dependent))
	gw.Delete(t, "/api/v1/namespaces/default/configmaps/owner?propagationPolicy=Foreground")
	gatewaytest.Until(t, "the dependent to go", func() bool { return code(http.MethodGet, stored+"/dependent") == http.StatusNotFound })
	gw.Create(t, strings.ReplaceAll(stored, "default", "other"), text(gadget("v1", "one", "large", nil)))
	gw.Delete(t, "/api/v1/namespaces/other")
	gatewaytest.Until(t, "the namespace to go", func() bool { return code(http.MethodGet, "/api/v1/namespaces/other") == http.StatusNotFound })

	webhook.breakDown(nil)
	release()
	release = func() {}
	gatewaytest.Until(t, "the other version", func() bool { return code(http.MethodGet, collectionIn("v2")) == http.StatusOK })
	if shown := gw.Do(t, http.MethodGet, collectionIn("v2")+"/one", ""); !strings.Contains(shown.Body, `"dimensions":{"size":"large"}`) {
		t.Errorf("the other version: %d %s", shown.Code, shown.Body)
	}
	webhook.fail("code 500")
	gw.Delete(t, definition)
	gatewaytest.Until(t, "the definition to go", func() bool { return code(http.MethodGet, definition) == http.StatusNotFound })
}

// TestConversionOfLateEvent checks that an event is converted once for all watches, and that one that the webhook cannot convert comes once it can.
func TestConversionOfLateEvent(t *testing.T) {
	t.Parallel()
	webhook := startConversionWebhook(t)
	gw := gatewaytest.Start(t)
	encoded, err := json.Marshal(webhook.gadgetDefinition("v1", "Size"))
	if err != nil {
		t.Fatal(err)
	}
	gw.Create(t, definitions, string(encoded))
	code := func(version string) int { return gw.Do(t, http.MethodGet, collectionIn(version), "").Code }
	gatewaytest.Until(t, "both versions", func() bool { return code("v1") == http.StatusOK && code("v2") == http.StatusOK })
	create := func(name string) {
		object, err := json.Marshal(gadget("v1", name, "large", nil))
		if err != nil {
			t.Fatal(err)
		}
		gw.Create(t, collectionIn("v1"), string(object))
	}
	watches := []*gatewaytest.Watch{gw.Watch(t, collectionIn("v2")+"?watch=1"), gw.Watch(t, collectionIn("v2")+"?watch=1")}
	calls := webhook.count()
	create("good")
	for _, watch := range watches {
		if event := watch.Next(t); event.Type != "ADDED" || !strings.Contains(event.Line, `"dimensions":{"size":"large"}`) {
			t.Errorf("%s %s", event.Type, event.Line)
		}
	}
	if made := webhook.count() - calls; made != 1 {
		t.Errorf("%d calls for one event of two watches, want one", made)
	}
	webhook.fail("failed")
	create("late")
	for _, path := range []string{collectionIn("v2"), collectionIn("v2") + "/late"} {
		if answer := gw.Do(t, http.MethodGet, path, ""); answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body, "not today") {
			t.Errorf("%s: %d %s, want the reason of the webhook", path, answer.Code, answer.Body)
		}
	}
	webhook.fail("")
	if answer := gw.Do(t, http.MethodGet, collectionIn("v2"), ""); answer.Code != http.StatusOK || strings.Count(answer.Body, `"dimensions"`) != 2 {
		t.Errorf("a list when the webhook works: %d %s, want both objects", answer.Code, answer.Body)
	}
	for _, watch := range watches {
		if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "late" {
			t.Errorf("%s, want the event that was late", event.Line)
		}
	}
}
