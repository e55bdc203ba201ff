package gatewaytest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestClusterDiscovery checks that a gateway without --kube-apiserver describes the resources that a kube-apiserver serves from etcd as that
// does, in both forms of discovery and in OpenAPI, but for the differences that deploy/CLUSTER.md names.
func TestClusterDiscovery(t *testing.T) {
	t.Parallel()
	c := startReplica(t)
	kube, revtail := c.kube.describe(t), c.revtail.describe(t)
	for name := range unservedSubresources {
		if kube[name] == nil || revtail[name] != nil {
			t.Errorf("%s: kube-apiserver %v, revtail %v: it is no exception", name, kube[name], revtail[name])
		}
		delete(kube, name)
	}
	if difference := cmp.Diff(kube, revtail); difference != "" {
		t.Errorf("resources (-kube-apiserver +revtail):\n%s", difference)
	}
	if want, got := c.kube.aggregated(t), c.revtail.aggregated(t); cmp.Diff(want, got) != "" {
		t.Errorf("aggregated (-kube-apiserver +revtail):\n%s", cmp.Diff(want, got))
	}
	fields := c.compareSchemas(t)
	const leastResources, leastFields = 130, 4000
	if len(kube) < leastResources || fields < leastFields {
		t.Errorf("%d resources and %d fields compared, want at least %d and %d", len(kube), fields, leastResources, leastFields)
	}
	t.Logf("%d resources and %d fields of schemas compared", len(kube), fields)
}

// unservedSubresources are those of a kube-apiserver that are not in etcd.
var unservedSubresources = map[string]bool{
	"v1 nodes/proxy": true, "v1 pods/attach": true, "v1 pods/exec": true, "v1 pods/log": true, "v1 pods/portforward": true, "v1 pods/proxy": true, "v1 services/proxy": true,
}

// groupVersions returns the paths of all groups in all versions.
func (s apiServer) groupVersions(t *testing.T) []string {
	t.Helper()
	paths := []string{"/api/v1"}
	var groups metav1.APIGroupList
	s.decode(t, "/apis", &groups)
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			paths = append(paths, "/apis/"+version.GroupVersion)
		}
	}
	return paths
}

// describe returns the resources of all groups, by their groups, versions and names. The order of verbs is not compared.
func (s apiServer) describe(t *testing.T) map[string]*metav1.APIResource {
	t.Helper()
	out := make(map[string]*metav1.APIResource)
	for _, root := range s.groupVersions(t) {
		if s.do(t, read(root)).Code == http.StatusNotFound { // that of an APIService without a server
			continue
		}
		var list metav1.APIResourceList
		s.decode(t, root, &list)
		for _, r := range list.APIResources {
			if slices.Sort(r.Verbs); root == "/api/v1" && r.Name == "namespaces" { // revtail can delete several
				r.Verbs = slices.DeleteFunc(r.Verbs, func(verb string) bool { return verb == "deletecollection" })
			}
			if r.Kind == "CustomResourceDefinition" { // it is that of v1, in which revtail itself stores it
				r.StorageVersionHash = ""
			}
			out[list.GroupVersion+" "+r.Name] = &r
		}
	}
	return out
}

// aggregated returns the groups of aggregated discovery with their versions, the preferred one first, and the resources of each with scope, verbs
// and subresources.
func (s apiServer) aggregated(t *testing.T) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	for _, path := range []string{"/api", "/apis"} {
		request := read(path)
		request.accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		var list apidiscovery.APIGroupDiscoveryList
		s.decodeAnswer(t, request, &list)
		for _, group := range list.Items {
			if group.Name == "local.example.com" { // the APIService in testdata/kinds.yaml, without a server
				continue
			}
			for _, version := range group.Versions {
				out[group.Name] = append(out[group.Name], version.Version+" "+string(version.Freshness))
				for _, r := range version.Resources {
					name := version.Version + "." + group.Name + "/" + r.Resource
					out[name] = []string{string(r.Scope), r.SingularResource, fmt.Sprint(r.ShortNames, r.Categories), r.ResponseKind.Kind}
					for _, sub := range r.Subresources {
						if full := "v1 " + r.Resource + "/" + sub.Subresource; group.Name != "" || !unservedSubresources[full] {
							out[name+"/"+sub.Subresource] = []string{fmt.Sprint(slices.Sorted(slices.Values(sub.Verbs))), sub.ResponseKind.Kind}
						}
					}
				}
			}
		}
	}
	return out
}

// compareSchemas checks that OpenAPI has the same groups and versions, the kinds and the fields of each schema, and no path that a
// kube-apiserver does not have. It returns how many schemas and fields it has compared.
func (c *replica) compareSchemas(t *testing.T) (fields int) {
	t.Helper()
	var kube, revtail struct{ Paths map[string]any }
	c.kube.decode(t, "/openapi/v3", &kube)
	c.revtail.decode(t, "/openapi/v3", &revtail)
	for path := range kube.Paths {
		if strings.Count(path, "/") == 0 || strings.HasPrefix(path, "apis/") && strings.Count(path, "/") == 1 || strings.HasPrefix(path, "apis/local.example.com") || !strings.HasPrefix(path, "api") {
			continue // documents about documents
		}
		want, got := c.kube.schemas(t, path), c.revtail.schemas(t, path)
		if difference := cmp.Diff(want.types, got.types); difference != "" {
			t.Errorf("%s (-kube-apiserver +revtail):\n%s", path, difference)
		}
		for p := range got.paths {
			if !want.paths[p] {
				t.Errorf("%s: kube-apiserver has no path %s", path, p)
			}
		}
		fields += len(got.types)
	}
	return fields
}

// described is what an OpenAPI document says.
type described struct {
	types map[string]string // by the names of schemas and fields
	paths map[string]bool
}

// schemas returns the types of the fields of all schemas but those about discovery and requests.
func (s apiServer) schemas(t *testing.T, path string) described {
	t.Helper()
	var document struct {
		Paths      map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Type  string
					AllOf []struct {
						Ref string `json:"$ref"`
					}
					Direct string `json:"$ref"`
				}
			}
		}
	}
	s.decode(t, "/openapi/v3/"+path, &document)
	out := described{map[string]string{}, map[string]bool{}}
	for p := range document.Paths {
		out.paths[p] = true
	}
	for name, schema := range document.Components.Schemas {
		if strings.HasPrefix(name, "io.k8s.apimachinery.") {
			continue
		}
		out.types[name] = "schema"
		for field, of := range schema.Properties {
			kind := of.Type + of.Direct
			for _, one := range of.AllOf {
				kind += one.Ref
			}
			out.types[name+"."+field] = kind
		}
	}
	return out
}
