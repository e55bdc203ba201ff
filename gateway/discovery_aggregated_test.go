package gateway

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

func TestDiscoveryAggregated(t *testing.T) {
	s := describedServer(t, "")
	for path, groups := range map[string][]string{
		"/api": {""},
		"/apis": {
			"apps", "batch", "coordination.k8s.io", "events.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io", "autoscaling", "certificates.k8s.io", "discovery.k8s.io",
			"flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
			"apiextensions.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
		},
	} {
		t.Run(path, func(t *testing.T) {
			var list apidiscovery.APIGroupDiscoveryList
			w := askFor(t, s, path, &list, "Accept", acceptAggregated)

			media, parameters, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
			want := map[string]string{"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
			if err != nil || media != "application/json" || !cmp.Equal(parameters, want) {
				t.Errorf("Content-Type: %q", w.Header().Get("Content-Type"))
			}
			if list.Kind != "APIGroupDiscoveryList" || list.APIVersion != "apidiscovery.k8s.io/v2" {
				t.Errorf("kind %s, apiVersion %s", list.Kind, list.APIVersion)
			}
			var got []string
			for _, group := range list.Items {
				got = append(got, group.Name)
				for _, version := range group.Versions {
					checkAggregatedVersion(t, s, group.Name, version)
				}
			}
			if diff := cmp.Diff(groups, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

// checkAggregatedVersion compares a version with the registry and the virtual resources.
func checkAggregatedVersion(t *testing.T, s *Server, group string, version apidiscovery.APIVersionDiscovery) {
	t.Helper()
	if version.Freshness != apidiscovery.DiscoveryFreshnessCurrent {
		t.Errorf("%s/%s is %q: clients would report it as failed", group, version.Version, version.Freshness)
	}
	registry := resource.NewRegistry(slices.Concat(s.catalog.Current().Registry.All(), resource.Virtual()))
	for _, got := range version.Resources {
		res := registry.Lookup(group, version.Version, got.Resource)
		if res == nil {
			t.Errorf("%s of %s/%s is advertised but not served", got.Resource, group, version.Version)
			continue
		}
		kind := &metav1.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}
		want := apidiscovery.APIResourceDiscovery{
			Resource: res.Plural, ResponseKind: kind, Scope: "Cluster", SingularResource: res.Singular, ShortNames: res.ShortNames, Categories: res.Categories,
			Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		}
		if res.Virtual {
			want.Verbs = []string{"create"}
		}
		if res.Virtual && res.ReadOnly {
			want.Verbs = []string{"get", "list"}
		}
		if res.Namespaced {
			want.Scope = "Namespaced"
		}
		if res.IsPods() {
			want.Subresources = append(want.Subresources,
				apidiscovery.APISubresourceDiscovery{Subresource: "binding", ResponseKind: &metav1.GroupVersionKind{Version: "v1", Kind: "Binding"}, Verbs: []string{"create"}},
				apidiscovery.APISubresourceDiscovery{Subresource: "eviction", ResponseKind: &metav1.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, Verbs: []string{"create"}})
		}
		if res.IsNamespaces() {
			want.Subresources = append(want.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: "finalize", ResponseKind: kind, Verbs: []string{"update"}})
		}
		if res.Tokens {
			want.Subresources = append(want.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: "token", Verbs: []string{"create"}, ResponseKind: &metav1.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"},
			})
		}
		if res.Status {
			want.Subresources = append(want.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: "status", ResponseKind: kind, Verbs: []string{"get", "patch", "update"}})
		}
		for _, name := range res.Whole {
			want.Subresources = append(want.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: name, ResponseKind: kind, Verbs: []string{"get", "patch", "update"}})
		}
		if res.Scale != nil {
			want.Subresources = append(want.Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: "scale", ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
				Verbs: []string{"get", "patch", "update"}})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", res.QualifiedName(), diff)
		}
	}
}

func TestDiscoveryAccept(t *testing.T) {
	const (
		v2      = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		v2beta1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
	)
	for _, test := range []struct{ name, accept, kind string }{
		{"absent", "", "legacy"},
		{"plain", "application/json", "legacy"},
		{"anything", "*/*", "legacy"},
		{"aggregated", v2, "aggregated"},
		{"aggregated, parameters in another order", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", "aggregated"},
		{"aggregated first", v2 + "," + v2beta1 + ",application/json", "aggregated"},
		{"aggregated after a version that is not served", v2beta1 + "," + v2 + ",application/json", "aggregated"},
		{"plain preferred by quality", v2 + ";q=0.5,application/json", "legacy"},
		{"plain instead of a version that is not served", v2beta1 + ",application/json", "legacy"},
		{"only a version that is not served", v2beta1, "refused"},
		{"aggregated, in protobuf or JSON", strings.Replace(v2, "json", "vnd.kubernetes.protobuf", 1) + "," + v2, "aggregated"},
		{"JSON or protobuf", "application/json,application/vnd.kubernetes.protobuf", "legacy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := describedServer(t, "")
			kinds := map[string][]string{ // of both documents, which must have the same form
				"legacy": {"APIVersions", "APIGroupList"}, "aggregated": {"APIGroupDiscoveryList", "APIGroupDiscoveryList"}, "refused": {"Status", "Status"},
			}[test.kind]
			for i, path := range []string{"/api", "/apis"} {
				w := ask(t, s, path, "Accept", test.accept)
				var document metav1.TypeMeta
				if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
					t.Fatal(err)
				}
				if document.Kind != kinds[i] {
					t.Errorf("GET %s: kind %s, want %s", path, document.Kind, kinds[i])
				}
				if refused := w.Code == http.StatusNotAcceptable; refused != (test.kind == "refused") {
					t.Errorf("GET %s: code %d", path, w.Code)
				}
				if vary := w.Header().Get("Vary"); vary != "Accept" {
					t.Errorf("GET %s: Vary: %q", path, vary)
				}
			}
		})
	}
}
