package gatewaytest_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

const (
	apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"
	asTable     = "application/json;as=Table;g=meta.k8s.io;v=v1"
)

// managedAPIService is what is compared of an APIService that a server manages.
type managedAPIService struct {
	Labels map[string]string
	Spec   any
	Status []string // the conditions, as "Available=True Local: message"
}

// managed returns the APIServices of a server.
func (s apiServer) managed(t *testing.T) map[string]managedAPIService {
	t.Helper()
	answer := s.do(t, read(apiServices))
	if answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %v", s.url, answer.Code, answer.Body)
	}
	out := make(map[string]managedAPIService)
	for _, item := range answer.Body.(map[string]any)["items"].([]any) {
		object := &unstructured.Unstructured{Object: item.(map[string]any)}
		found := managedAPIService{Labels: object.GetLabels(), Spec: object.Object["spec"]}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // nil if there are none
		for _, condition := range conditions {
			c := condition.(map[string]any)
			found.Status = append(found.Status, c["type"].(string)+"="+c["status"].(string)+" "+c["reason"].(string)+": "+c["message"].(string))
		}
		out[object.GetName()] = found
	}
	return out
}

// TestManagedAPIServices checks that a gateway has the APIServices that a kube-apiserver has, with the same labels, spec and status, also those of a
// CustomResourceDefinition, and that deleted ones of definitions come back on both.
func TestManagedAPIServices(t *testing.T) {
	t.Parallel()
	c := startComparison(t, "--create-namespaces")
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const name = "v1beta2.gadgets.example.com"
	for _, server := range []apiServer{c.kube, c.revtail} {
		if answer := server.do(t, write(http.MethodPost, definitions, definedGadgets)); answer.Code != http.StatusCreated {
			t.Fatalf("%s: %d %v", server.url, answer.Code, answer.Body)
		}
		gatewaytest.Until(t, "the APIService of a definition", func() bool { return server.do(t, read(apiServices+"/"+name)).Code == http.StatusOK })
	}
	kube := c.kube.managed(t)
	gatewaytest.Until(t, "as many APIServices", func() bool { return len(c.revtail.managed(t)) >= len(kube) })
	if diff := cmp.Diff(kube, c.revtail.managed(t)); diff != "" {
		t.Errorf("APIServices (-kube-apiserver +revtail):\n%s", diff)
	}
	table := read(apiServices + "/v1.apps?includeObject=None")
	table.accept = asTable
	o := &objectComparison{comparison: c, t: t}
	o.try("table", table)
	for _, server := range []apiServer{c.kube, c.revtail} {
		before := server.do(t, read(apiServices+"/"+name))
		server.do(t, apiRequest{method: http.MethodDelete, path: apiServices + "/" + name})
		gatewaytest.Until(t, "another APIService", func() bool {
			now := server.do(t, read(apiServices+"/"+name))
			return now.Code == http.StatusOK && uidOf(now) != uidOf(before)
		})
		server.do(t, apiRequest{method: http.MethodDelete, path: definitions + "/gadgets.gadgets.example.com"})
		gatewaytest.Until(t, "no APIService", func() bool { return server.do(t, read(apiServices+"/"+name)).Code == http.StatusNotFound })
	}
}

func uidOf(answer apiAnswer) string {
	return string((&unstructured.Unstructured{Object: answer.Body.(map[string]any)}).GetUID())
}

// TestAPIServicesOfOtherServers checks that a gateway accepts and refuses APIServices of other API servers as a kube-apiserver does.
func TestAPIServicesOfOtherServers(t *testing.T) {
	t.Parallel()
	c := startComparison(t)
	o := c.of(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.example.com"},
		"spec": map[string]any{
			"group": "metrics.example.com", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "kube-system", "name": "metrics-server", "port": int64(4443)},
		},
	}})
	for _, m := range mutationsOf(o.object.Object) {
		o.tryMutation(m, http.MethodPost, o.collection)
	}
	o.try("create", write(http.MethodPost, o.collection+asTest, o.object.Object))
	o.try("create again", write(http.MethodPost, o.collection+asTest, o.object.Object))
}

// definedGadgets is a definition of two versions.
var definedGadgets = map[string]any{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.gadgets.example.com"},
	"spec": map[string]any{
		"group": "gadgets.example.com", "scope": "Cluster", "names": map[string]any{"plural": "gadgets", "kind": "Gadget"},
		"versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": anyObject},
			map[string]any{"name": "v1beta2", "served": true, "storage": false, "schema": anyObject},
			map[string]any{"name": "v1beta1", "served": false, "storage": false, "schema": anyObject},
		},
	},
}

var anyObject = map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}

// TestComponentStatuses checks that a gateway answers as a kube-apiserver about ComponentStatuses.
func TestComponentStatuses(t *testing.T) {
	t.Parallel()
	c := startComparison(t)
	o := &objectComparison{comparison: c, t: t}
	const path = "/api/v1/componentstatuses"
	shown := func(path, accept string) apiRequest {
		request := read(path)
		request.accept = accept
		return request
	}
	list := func(what string, request apiRequest) {
		t.Helper()
		kube, revtail := c.kube.do(t, request), c.revtail.do(t, request)
		for _, answer := range []apiAnswer{kube, revtail} { // a kube-apiserver has no order
			for _, member := range []string{"items", "rows"} {
				items, _, _ := unstructured.NestedSlice(answer.Body.(map[string]any), member) // nil if there are none
				for _, item := range items {                                                  // a gateway says the kind of each object in a list
					delete(item.(map[string]any), "kind")
					delete(item.(map[string]any), "apiVersion")
				}
				slices.SortFunc(items, func(a, b any) int { return strings.Compare(jsonOf(t, a), jsonOf(t, b)) })
				if items != nil {
					answer.Body.(map[string]any)[member] = items
				}
			}
		}
		o.compare(what, kube, revtail)
	}
	list("list", read(path))
	list("table", shown(path, asTable))
	list("metadata", shown(path, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"))
	list("list by name", read(path+"?fieldSelector=metadata.name%3Detcd-0"))
	list("list by other names", read(path+"?fieldSelector=metadata.name%21%3Detcd-0"))
	list("list by a label", read(path+"?labelSelector=a"))
	list("list without a label", read(path+"?labelSelector=%21a"))
	list("pages", read(path+"?limit=1"))
	for _, name := range []string{"etcd-0", "scheduler", "controller-manager", "etcd-1"} {
		o.try("get of "+name, read(path+"/"+name))
	}
	o.try("table of one", shown(path+"/etcd-0", asTable))
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPut, http.MethodPatch} {
		for _, of := range []string{path, path + "/etcd-0"} {
			request := write(method, of, map[string]any{"apiVersion": "v1", "kind": "ComponentStatus", "metadata": map[string]any{"name": "etcd-0"}})
			if kube, revtail := c.kube.do(t, request), c.revtail.do(t, request); kube.Code != revtail.Code {
				t.Errorf("%s %s: kube-apiserver %d, revtail %d", method, of, kube.Code, revtail.Code)
			}
		}
	}
	if kube, revtail := c.kube.do(t, read(path+"?watch=1")), c.revtail.do(t, read(path+"?watch=1")); kube.Code != revtail.Code {
		t.Errorf("a watch: kube-apiserver %d, revtail %d", kube.Code, revtail.Code)
	}
	for of, group := range map[string]string{"componentstatuses": "/api/v1", "apiservices": "/apis/apiregistration.k8s.io/v1", "apiservices/status": "/apis/apiregistration.k8s.io/v1"} {
		if diff := cmp.Diff(discovered(t, c.kube, group, of), discovered(t, c.revtail, group, of)); diff != "" {
			t.Errorf("%s in discovery (-kube-apiserver +revtail):\n%s", of, diff)
		}
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// discovered returns what discovery says about a resource.
func discovered(t *testing.T, s apiServer, path, name string) any {
	t.Helper()
	for _, each := range s.do(t, read(path)).Body.(map[string]any)["resources"].([]any) {
		if each.(map[string]any)["name"] == name {
			return each
		}
	}
	t.Errorf("%s: discovery lacks %s", s.url, name)
	return nil
}
