package gatewaytest_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definition  = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	widgets = "/apis/example.com/v1/namespaces/default/widgets"
	widget  = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w-"}}`
)

// TestFrozenGatewayCreatesNothing checks that a gateway that was frozen while another one deleted a definition leaves none of the objects
// in etcd that are created before it knows of the deletion.
func TestFrozenGatewayCreatesNothing(t *testing.T) {
	t.Parallel()
	first := gatewaytest.Start(t)
	second := gatewaytest.Start(t, "--etcd-endpoints", first.EtcdEndpoint)
	keys := gatewaytest.DialEtcd(t, first.EtcdEndpoint)
	code := func(g *gatewaytest.Gateway, path string) int { return g.Do(t, http.MethodGet, path, "").Code }

	first.Create(t, definitions, definition)
	eventually(t, "both gateways to serve widgets", func() bool { return code(first, widgets) == http.StatusOK && code(second, widgets) == http.StatusOK })
	second.Create(t, widgets, widget)
	second.Freeze(t)
	first.Delete(t, definitions+"/widgets.example.com")
	eventually(t, "the definition to go", func() bool { return code(first, definitions+"/widgets.example.com") == http.StatusNotFound })

	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	var creating sync.WaitGroup
	codes := make([]int, 50)
	for i := range codes {
		creating.Go(func() {
			answer, err := second.Try(ctx, http.MethodPost, widgets, widget)
			if err != nil {
				t.Error(err)
			}
			codes[i] = answer.Code
		})
	}
	second.Thaw(t)
	creating.Wait()
	if i := slices.IndexFunc(codes, func(code int) bool { return code != http.StatusNotFound && code != http.StatusMethodNotAllowed }); i >= 0 {
		t.Errorf("a create was answered with %d", codes[i])
	}
	if left := slices.DeleteFunc(keys.All(t), func(key string) bool { return !strings.HasPrefix(key, "/registry/example.com/") }); len(left) > 0 {
		t.Errorf("left in etcd: %v", left)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(gatewaytest.Patience)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
