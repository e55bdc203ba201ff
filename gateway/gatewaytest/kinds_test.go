package gatewaytest_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"revtail/gateway/gatewaytest"
)

// TestKinds checks that a gateway gives the answers of a kube-apiserver about the objects of testdata/kinds.yaml: when they are created, read,
// shown as a table, updated, patched and applied, and when any value in them is removed or replaced, by POST and by PUT with dryRun. It
// compares code, warnings and body.
func TestKinds(t *testing.T) {
	t.Parallel()
	c := startComparison(t)
	objects, compared := gatewaytest.ReadManifest(t, "testdata/kinds.yaml"), 0
	for _, object := range objects {
		t.Run(object.GetKind()+"/"+object.GetName(), func(t *testing.T) {
			compared++
			c.of(t, object).run()
		})
	}
	const least = 6000
	t.Logf("%d answers about %d objects compared", c.answers, compared)
	if compared == len(objects) && c.answers < least { // fewer objects if -run chooses some
		t.Errorf("%d answers compared, want at least %d", c.answers, least)
	}
}

// comparison compares the answers of a kube-apiserver and of a gateway.
type comparison struct {
	kube, revtail apiServer
	started       time.Time
	mapper        meta.RESTMapper // of the gateway
	answers       int             // compared so far
}

// startComparison starts a kube-apiserver and a gateway, both as beside a kube-controller-manager, which does not run: it would write the status
// of ResourceQuotas, and create the ServiceAccount of the namespace.
func startComparison(t *testing.T, args ...string) *comparison {
	t.Helper()
	c := startWithoutAccounts(t, args...)
	account := map[string]any{"metadata": map[string]any{"name": "default"}, "automountServiceAccountToken": false}
	for _, server := range []apiServer{c.kube, c.revtail} {
		if answer := server.do(t, write(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", account)); answer.Code != http.StatusCreated {
			t.Fatalf("%s: %d %v", server.url, answer.Code, answer.Body)
		}
	}
	return c
}

// startWithoutAccounts is startComparison without a ServiceAccount.
func startWithoutAccounts(t *testing.T, args ...string) *comparison {
	t.Helper()
	if gatewaytest.RaceDetector() {
		t.Skip("thousands of answers, to one request after the other, are compared without the race detector: make test")
	}
	kube := gatewaytest.StartKubeAPIServer(t, gatewaytest.StartEtcd(t, 1).Endpoints(), "--disable-admission-plugins", unusedPlugins,
		"--enable-priority-and-fairness=false", // which would write the status of FlowSchemas
		"--allow-privileged")
	gw := gatewaytest.Start(t, append(args, "--garbage-collector=false", "--external-garbage-collector", "--service-cluster-ip-range=10.0.0.0/24")...)
	c := &comparison{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS), revtail: connect(t, gw.URL, "", nil), started: time.Now()}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(&rest.Config{Host: gw.URL}, c.revtail.client)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		t.Fatal(err)
	}
	c.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	return c
}

// unusedPlugins are the admission plugins of kube-apiserver that revtail does not have.
const unusedPlugins = "CertificateApproval,CertificateSigning,CertificateSubjectRestriction,ClusterTrustBundleAttest,DefaultIngressClass," +
	"DefaultStorageClass,DefaultTolerationSeconds,PersistentVolumeClaimResize,PodSecurity,StorageObjectInUseProtection,TaintNodesByCondition"

// objectComparison compares the answers about one object.
type objectComparison struct {
	*comparison
	t           *testing.T
	object      *unstructured.Unstructured
	collection  string // the path of the collection that the object is in
	path        string
	differences int
}

// of returns the comparison of an object. If its kind is namespaced, it is in the namespace default.
func (c *comparison) of(t *testing.T, object *unstructured.Unstructured) *objectComparison {
	t.Helper()
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	collection := "/apis/" + object.GetAPIVersion()
	if kind.Group == "" {
		collection = "/api/" + kind.Version
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		collection += "/namespaces/default"
	}
	collection += "/" + mapping.Resource.Resource
	return &objectComparison{comparison: c, t: t, object: object, collection: collection, path: collection + "/" + object.GetName()}
}

const (
	asTest = "?fieldManager=test"
	dryRun = "&dryRun=All"
	// mostPrinted is how many differences of a kind are printed.
	mostPrinted = 5
)

// run compares the answers about mutations of the object before it exists, about the object, about mutations of it when it exists, and about its deletion.
func (o *objectComparison) run() {
	o.t.Helper()
	mutations := mutationsOf(o.object.Object)
	for _, m := range mutations {
		o.tryMutation(m, http.MethodPost, o.collection)
	}
	o.tryObject()
	for _, m := range mutations {
		if name, _, err := unstructured.NestedString(m.object, "metadata", "name"); err == nil && name == o.object.GetName() {
			o.tryMutation(m, http.MethodPut, o.path)
		}
	}
	o.try(deleteDry, apiRequest{method: http.MethodDelete, path: o.path + "?dryRun=All&gracePeriodSeconds=0"})
	o.try("delete", apiRequest{method: http.MethodDelete, path: o.path + "?gracePeriodSeconds=0"})
	if o.differences > mostPrinted {
		o.t.Errorf("%d more answers differ", o.differences-mostPrinted)
	}
}

// tryObject creates the object, reads it and changes it.
func (o *objectComparison) tryObject() {
	o.t.Helper()
	created := o.try("create", write(http.MethodPost, o.collection+asTest, o.object.Object))
	if created.Code != http.StatusCreated {
		o.t.Fatalf("create: %d, want an object that kube-apiserver accepts\n%v", created.Code, created.Body)
	}
	table := read(o.path + "?includeObject=None")
	table.accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
	o.try("table", table)
	o.tryPut()
	o.try("patch of labels", mergePatch(o.path+asTest, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}))
	if _, ok := created.Body.(map[string]any)["status"]; ok {
		o.try("patch of the status", mergePatch(o.path+"/status"+asTest, map[string]any{"status": map[string]any{}}))
	}
	applied := o.object.DeepCopy()
	applied.SetLabels(map[string]string{"c": "d"})
	o.try("apply", applyPatch(o.path+"?fieldManager=applier&force=true", applied.Object))
}

// tryPut reads the object and writes back to each server what it has read there.
func (o *objectComparison) tryPut() {
	o.t.Helper()
	kube, revtail := o.kube.do(o.t, read(o.path)), o.revtail.do(o.t, read(o.path))
	o.compare("read", kube, revtail)
	put := func(to apiServer, found apiAnswer) apiAnswer {
		return to.do(o.t, write(http.MethodPut, o.path+asTest, found.Body))
	}
	o.compare("put", put(o.kube, kube), put(o.revtail, revtail))
}

// tryMutation writes a mutation with dryRun. managedFields do not count if it has an empty list in place of another: kube-apiserver's name
// that list, revtail's do not.
func (o *objectComparison) tryMutation(m mutation, method, path string) {
	o.t.Helper()
	request := write(method, path+asTest+dryRun, m.object)
	kube, revtail := o.kube.do(o.t, request), o.revtail.do(o.t, request)
	if m.emptiesList {
		kube.dropManagedFields()
		revtail.dropManagedFields()
	}
	o.compare(method+" with "+m.change, kube, revtail)
}

// try compares the answers to one request, and returns that of the kube-apiserver.
func (o *objectComparison) try(what string, request apiRequest) apiAnswer {
	o.t.Helper()
	kube := o.kube.do(o.t, request)
	o.compare(what, kube, o.revtail.do(o.t, request))
	return kube
}

const (
	dropped   = "a kube-apiserver updates managedFields before it drops what the type of a Service does not have"
	deleteDry = "delete in a dry run"
)

// knownDifferences are answers that differ, by the names of the test and of the answer, with the reason.
var knownDifferences = map[string]string{

	"TestServiceAddressesAreThoseOfAKubeAPIServer: s0 becomes an ExternalName": dropped,
	"TestServiceAddressesAreThoseOfAKubeAPIServer: s0 becomes a ClusterIP":     dropped,
	"TestServiceAddressesAreThoseOfAKubeAPIServer: s1 becomes a ClusterIP":     dropped,
	"TestServiceAddressesAreThoseOfAKubeAPIServer: s6 becomes an ExternalName": dropped,
}

func (o *objectComparison) compare(what string, kube, revtail apiAnswer) {
	o.t.Helper()
	o.answers++
	kube, revtail = kube.normalized(o.started), revtail.normalized(o.started)
	equal, reason := reflect.DeepEqual(kube, revtail), knownDifferences[o.t.Name()+": "+what]
	switch {
	case equal && reason != "":
		o.t.Errorf("%s: the answers are equal, although %s: it is no known difference any more", what, reason)
	case equal, reason != "":
		return
	}
	if o.differences++; o.differences <= mostPrinted {
		o.t.Errorf("%s (-kube-apiserver +revtail):\n%s", what, cmp.Diff(kube, revtail))
	}
}

// apiServer is a server of Kubernetes' API.
type apiServer struct {
	url, authorization string
	client             *http.Client
}

// connect returns a server whose connections are reused until the test ends.
func connect(t *testing.T, url, authorization string, config *tls.Config) apiServer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: gatewaytest.Patience}
	t.Cleanup(client.CloseIdleConnections)
	return apiServer{url, authorization, client}
}

// apiRequest is a request. Its body is JSON, except for nil.
type apiRequest struct {
	method, path, mediaType, accept string
	body                            any
}

func read(path string) apiRequest {
	return apiRequest{method: http.MethodGet, path: path}
}

func write(method, path string, body any) apiRequest {
	return apiRequest{method: method, path: path, mediaType: "application/json", body: body}
}

func mergePatch(path string, body any) apiRequest {
	return apiRequest{method: http.MethodPatch, path: path, mediaType: "application/merge-patch+json", body: body}
}

func applyPatch(path string, body any) apiRequest {
	return apiRequest{method: http.MethodPatch, path: path, mediaType: "application/apply-patch+yaml", body: body}
}

func (s apiServer) do(t *testing.T, request apiRequest) apiAnswer {
	t.Helper()
	var body []byte
	if request.body != nil {
		var err error
		if body, err = json.Marshal(request.body); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), request.method, s.url+request.path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": request.mediaType, "Accept": request.accept, "Authorization": s.authorization} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := readAPIAnswer(response)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
