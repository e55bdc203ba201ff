package gatewaytest_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

// replica is a gateway over the etcd of a kube-apiserver.
type replica struct {
	kube, revtail apiServer
	answers       atomic.Int64 // compared so far

	etcd   *gatewaytest.Cluster
	writer *gatewaytest.KubeAPIServer // the process of kube
}

// besideCluster is set by make cluster.
var besideCluster = flag.Bool("cluster", false, "run gateways beside a kube-apiserver, which takes minutes")

// needCluster skips a test that starts a kube-apiserver with objects of every kind, or with users of its own.
func needCluster(t *testing.T) {
	t.Helper()
	if !*besideCluster {
		t.Skip("`make cluster` runs gateways beside a kube-apiserver")
	}
}

// startReplica starts a kube-apiserver that has at least one object of every kind, and a gateway over its etcd.
func startReplica(t *testing.T) *replica {
	t.Helper()
	needCluster(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged")
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS), etcd: etcd, writer: kube}
	c.fill(t)
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints())
	c.revtail = connect(t, gw.URL, "", nil)
	return c
}

// fill creates the objects of testdata/kinds.yaml, the definitions of other projects and the objects of testdata/custom.yaml, which are of those.
func (c *replica) fill(t *testing.T) {
	t.Helper()
	c.create(t, gatewaytest.ReadManifest(t, "testdata/kinds.yaml")...)
	folder := filepath.Join(filepath.Dir(gatewaytest.Tool(t, "kube-apiserver")), "definitions")
	for _, project := range []string{"gateway-api", "prometheus-operator", "cert-manager"} {
		files, err := filepath.Glob(filepath.Join(folder, project, "crds", "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", project, len(files), err)
		}
		for _, file := range files {
			for _, definition := range gatewaytest.ReadManifest(t, file) {
				c.create(t, definition)
				c.awaitServed(t, definition)
			}
		}
	}
	c.create(t, gatewaytest.ReadManifest(t, "testdata/custom.yaml")...)
}

// awaitServed waits until a kube-apiserver serves all versions of a definition.
func (c *replica) awaitServed(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group") // the kube-apiserver has accepted the definition
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		if v := version.(map[string]any); v["served"] == true {
			root := "/apis/" + group + "/" + v["name"].(string)
			gatewaytest.Until(t, root, func() bool {
				return c.kube.do(t, read(root)).Code == http.StatusOK && c.kube.do(t, read(root+"/"+plural+"?limit=1")).Code == http.StatusOK
			})
		}
	}
}

// create creates objects, in the namespace default unless they name another one.
func (c *replica) create(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		path := c.collectionOf(t, object)
		answer := c.kube.do(t, write(http.MethodPost, path, object.Object))
		if answer.Code != http.StatusCreated && answer.Code != http.StatusConflict {
			t.Fatalf("%s %s: %d %v", path, object.GetName(), answer.Code, answer.Body)
		}
	}
}

// collectionOf returns the path of the collection of an object.
func (c *replica) collectionOf(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	kind := object.GroupVersionKind()
	root := "/apis/" + object.GetAPIVersion()
	if kind.Group == "" {
		root = "/api/" + kind.Version
	}
	var found metav1.APIResource
	for _, r := range c.discover(t, root) {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") {
			found = r
		}
	}
	if found.Name == "" {
		t.Fatalf("%s: no %s", root, kind.Kind)
	}
	if found.Namespaced {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = "default"
		}
		root += "/namespaces/" + namespace
	}
	return root + "/" + found.Name
}

// discover returns the resources of a group and version; none: they are those of another server, of which there is an APIService alone.
func (c *replica) discover(t *testing.T, root string) []metav1.APIResource {
	t.Helper()
	if c.kube.do(t, read(root)).Code == http.StatusNotFound {
		return nil
	}
	var list metav1.APIResourceList
	c.decode(t, root, &list)
	return list.APIResources
}

func (c *replica) decode(t *testing.T, path string, into any) {
	t.Helper()
	c.kube.decode(t, path, into)
}

func (s apiServer) decode(t *testing.T, path string, into any) {
	t.Helper()
	s.decodeAnswer(t, read(path), into)
}

func (s apiServer) decodeAnswer(t *testing.T, request apiRequest, into any) {
	t.Helper()
	path := request.path
	var answer apiAnswer
	gatewaytest.Until(t, path, func() bool { // a kube-apiserver answers 429 for a while after a definition has been created
		answer = s.do(t, request)
		return answer.Code != http.StatusTooManyRequests
	})
	text, err := json.Marshal(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %v", path, answer.Code, err)
	}
}

// replicaResource is a resource of which a kube-apiserver has objects.
type replicaResource struct {
	metav1.APIResource
	path string // of the collection in all namespaces
}

// each compares resources, each in a subtest of its own.
func each(t *testing.T, resources []replicaResource, compare func(*testing.T, replicaResource)) {
	t.Helper()
	t.Run("resources", func(t *testing.T) {
		for _, r := range resources {
			t.Run(r.path, func(t *testing.T) {
				t.Parallel() // because each waits for the end of a watch
				compare(t, r)
			})
		}
	})
}

// resources returns what the kube-apiserver serves from etcd, in all versions.
func (c *replica) resources(t *testing.T) (out []replicaResource) {
	t.Helper()
	for _, root := range c.kube.groupVersions(t) {
		for _, r := range c.discover(t, root) {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				out = append(out, replicaResource{r, root + "/" + r.Name})
			}
		}
	}
	return out
}

// compareResource compares lists, tables, objects and watches of a resource at one resourceVersion.
func (c *replica) compareResource(t *testing.T, r replicaResource) {
	t.Helper()
	var list unstructured.UnstructuredList
	c.decode(t, r.path, &list)
	version := list.GetResourceVersion()
	exact := "?resourceVersionMatch=Exact&resourceVersion=" + version
	c.compare(t, read(r.path+exact))
	c.compare(t, read(r.path+exact+"&limit=1"))
	if why := differentTables[r.path]; why == "" {
		c.compare(t, tableOf(r.path+exact))
	}
	c.compare(t, read(r.path+exact+"&labelSelector="+url.QueryEscape("a notin (b)")))
	c.compareWatch(t, r.path+"?watch=1&timeoutSeconds=1&resourceVersion=0")
	for i, item := range list.Items {
		path := r.pathOf(item)
		c.compare(t, read(path))
		if i == 0 && differentTables[r.path] == "" {
			c.compare(t, tableOf(path))
		}
	}
	if len(list.Items) == 0 && slices.Contains(r.Verbs, "create") {
		t.Errorf("%s has no object: add one to testdata/kinds.yaml or custom.yaml", r.path)
	}
}

// pathOf returns the path of an object.
func (r replicaResource) pathOf(item unstructured.Unstructured) string {
	path := r.path
	if r.Namespaced {
		path = strings.TrimSuffix(path, r.Name) + "namespaces/" + item.GetNamespace() + "/" + r.Name
	}
	return path + "/" + item.GetName()
}

// differentTables are the paths of resources whose tables differ, with the reason.
var differentTables = map[string]string{
	"/apis/apps/v1/daemonsets":                          "kube-apiserver leaves an annotation out of the metadata in a table, that is a field of its internal type",
	"/apis/autoscaling/v1/horizontalpodautoscalers":     "so it does with three annotations, and shows the metrics in the order of v2",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": "kube-apiserver sorts the rows by precedence",
}

func tableOf(path string) apiRequest {
	request := read(path)
	request.accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
	return request
}

// compare compares the answers to a request.
func (c *replica) compare(t *testing.T, request apiRequest) {
	t.Helper()
	c.answers.Add(1)
	kube, revtail := comparable(c.kube.do(t, request)), comparable(c.revtail.do(t, request))
	if !reflect.DeepEqual(kube, revtail) {
		t.Errorf("%s %s (-kube-apiserver +revtail):\n%s", request.path, request.accept, cmp.Diff(kube, revtail))
	}
}

// comparable returns an answer in which the ages of a table are equal, since they change while the test reads them, and without what a gateway
// adds to lists: the kind and the apiVersion of each item, and an empty continue. Columns are described in other words.
func comparable(a apiAnswer) apiAnswer {
	body, _ := a.Body.(map[string]any)
	items, _ := body["items"].([]any)
	for _, item := range items {
		delete(item.(map[string]any), "kind")
		delete(item.(map[string]any), "apiVersion")
	}
	if metadata, _ := body["metadata"].(map[string]any); metadata["continue"] == "" {
		delete(metadata, "continue")
	} else if text, ok := metadata["continue"].(string); ok {
		metadata["continue"] = continuation(text)
	}
	columns, _ := body["columnDefinitions"].([]any)
	for _, column := range columns {
		delete(column.(map[string]any), "description")
	}
	rows, _ := body["rows"].([]any)
	for _, row := range rows {
		if cells, ok := row.(map[string]any)["cells"].([]any); ok {
			equalAges(cells)
		}
	}
	return a
}

// continuation returns what a continue token says, less the seal of a gateway.
func continuation(token string) any {
	content, err := base64.RawURLEncoding.DecodeString(token)
	var said map[string]any
	if err != nil || json.Unmarshal(content, &said) != nil {
		return token
	}
	delete(said, "seal")
	if start, ok := said["start"].(string); ok {
		said["start"] = strings.TrimPrefix(start, "/")
	}
	return said
}

// compareWatch compares the events of a watch that begins with a state, in the order of their keys. The Lease of the kube-apiserver itself may
// change meanwhile.
func (c *replica) compareWatch(t *testing.T, path string) {
	t.Helper()
	c.answers.Add(1)
	var kube, revtail map[string][]any
	for _, seconds := range []string{"1", "10"} { // a busy machine needs longer for a large state
		var both sync.WaitGroup
		timed := strings.Replace(path, "timeoutSeconds=1", "timeoutSeconds="+seconds, 1)
		both.Go(func() { kube = c.kube.events(t, timed) })
		both.Go(func() { revtail = c.revtail.events(t, timed) })
		both.Wait()
		if reflect.DeepEqual(kube, revtail) {
			return
		}
	}
	t.Errorf("%s (-kube-apiserver +revtail):\n%s", path, cmp.Diff(kube, revtail))
}

// events returns the events of a watch until it ends, by the names of their objects and in order.
func (s apiServer) events(t *testing.T, path string) map[string][]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.authorization != "" {
		r.Header.Set("Authorization", s.authorization)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	out := map[string][]any{}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct {
			Type   string
			Object map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%s: %v: %s", path, err, lines.Text())
		}
		object := unstructured.Unstructured{Object: event.Object}
		name := object.GetNamespace() + "/" + object.GetName()
		if strings.HasPrefix(name, "kube-system/apiserver-") {
			continue
		}
		out[name] = append(out[name], fmt.Sprint(event.Type), event.Object)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// write sends a request to the kube-apiserver that must succeed.
func (c *replica) write(t *testing.T, request apiRequest) {
	t.Helper()
	if answer := c.kube.do(t, request); answer.Code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %v", request.method, request.path, answer.Code, answer.Body)
	}
}

func etcdctl(t *testing.T, endpoint string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "etcdctl"), append([]string{"--endpoints=" + endpoint}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("etcdctl %v: %v\n%s", args, err, out)
	}
	return string(out)
}
