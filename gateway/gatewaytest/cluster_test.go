package gatewaytest_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

// TestCluster checks that a gateway over the etcd of a kube-apiserver answers as that does: about objects of every kind that it serves, and about
// those of the definitions of other projects. It compares whole answers, with all resourceVersions.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := startReplica(t)
	resources := c.resources(t)
	t.Run("resources", func(t *testing.T) {
		for _, r := range resources {
			t.Run(r.path, func(t *testing.T) {
				t.Parallel() // because each waits for the end of a watch
				c.compareResource(t, r)
			})
		}
	})
	const least = 60
	if len(resources) < least {
		t.Errorf("%d resources compared, want at least %d", len(resources), least)
	}
	t.Logf("%d answers about %d resources compared", c.answers.Load(), len(resources))
}

// replica is a gateway over the etcd of a kube-apiserver.
type replica struct {
	kube, revtail apiServer
	answers       atomic.Int64 // compared so far
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
func startReplica(t *testing.T, args ...string) *replica {
	t.Helper()
	needCluster(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged")
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS)}
	c.fill(t)
	gw := gatewaytest.Start(t, append(args, "--cluster", "--etcd-endpoints", etcd.Endpoints())...)
	c.revtail = connect(t, gw.URL, "", nil)
	return c
}

// fill creates the objects of testdata/kinds.yaml, the definitions of other projects and objects of those.
func (c *replica) fill(t *testing.T) {
	t.Helper()
	c.create(t, gatewaytest.ReadManifest(t, "testdata/kinds.yaml"), true)
	folder := filepath.Join(filepath.Dir(gatewaytest.Tool(t, "kube-apiserver")), "definitions")
	for _, project := range []string{"gateway-api", "prometheus-operator", "cert-manager"} {
		files, err := filepath.Glob(filepath.Join(folder, project, "crds", "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", project, len(files), err)
		}
		for _, file := range files {
			for _, definition := range gatewaytest.ReadManifest(t, file) {
				c.create(t, []*unstructured.Unstructured{definition}, true)
				c.awaitServed(t, definition)
			}
		}
	}
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
func (c *replica) create(t *testing.T, objects []*unstructured.Unstructured, must bool) {
	t.Helper()
	for _, object := range objects {
		path := c.collectionOf(t, object)
		answer := c.kube.do(t, write(http.MethodPost, path, object.Object))
		if must && answer.Code != http.StatusCreated && answer.Code != http.StatusConflict {
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
	var answer apiAnswer
	gatewaytest.Until(t, path, func() bool { // a kube-apiserver answers 429 for a while after a definition has been created
		answer = c.kube.do(t, read(path))
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

// resources returns what the kube-apiserver serves from etcd, in all versions.
func (c *replica) resources(t *testing.T) (out []replicaResource) {
	t.Helper()
	roots := []string{"/api/v1"}
	var groups metav1.APIGroupList
	c.decode(t, "/apis", &groups)
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			roots = append(roots, "/apis/"+version.GroupVersion)
		}
	}
	for _, root := range roots {
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
		path := r.path
		if r.Namespaced {
			path = strings.TrimSuffix(path, r.Name) + "namespaces/" + item.GetNamespace() + "/" + r.Name
		}
		c.compare(t, read(path+"/"+item.GetName()))
		if i == 0 && differentTables[r.path] == "" {
			c.compare(t, tableOf(path+"/"+item.GetName()))
		}
	}
	if len(list.Items) == 0 && !strings.Contains(r.Name, "leases") {
		t.Logf("%s has no object", r.path)
	}
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

// TestClusterUnderLoad checks that watches of a kube-apiserver and of a gateway over its etcd have the same events while objects are created,
// changed and deleted, and that a list that follows a write to the kube-apiserver has it.
func TestClusterUnderLoad(t *testing.T) {
	t.Parallel()
	c := startReplica(t)
	const pods, deployments, events = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/events"
	var list unstructured.UnstructuredList
	c.decode(t, pods+"?limit=1", &list)
	for i := range 20 {
		name := fmt.Sprintf("load-%d", i)
		for path, object := range map[string]map[string]any{
			pods: {"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i:1"}}}},
			deployments: {"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}},
			events: {"involvedObject": map[string]any{"namespace": "default"}, "reason": "Load"},
		} {
			object["metadata"] = map[string]any{"name": name}
			c.write(t, write(http.MethodPost, path, object))
			c.write(t, mergePatch(path+"/"+name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"load": "true"}}}))
			if i%2 == 0 {
				c.write(t, write(http.MethodDelete, path+"/"+name, nil))
			}
		}
		now := c.revtail.do(t, read(pods+"/"+name))
		if want := c.kube.do(t, read(pods+"/"+name)); !reflect.DeepEqual(now, want) {
			t.Errorf("%s right after it was written (-kube-apiserver +revtail):\n%s", name, cmp.Diff(want, now))
		}
	}
	from := "&timeoutSeconds=1&resourceVersion=" + list.GetResourceVersion()
	for _, path := range []string{pods, deployments, events, "/apis/events.k8s.io/v1/namespaces/default/events"} {
		c.compareWatch(t, path+"?watch=1"+from)
		c.compareWatch(t, path+"?watch=1&labelSelector=load"+from)
	}
}

// write sends a request to the kube-apiserver that must succeed.
func (c *replica) write(t *testing.T, request apiRequest) {
	t.Helper()
	if answer := c.kube.do(t, request); answer.Code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %v", request.method, request.path, answer.Code, answer.Body)
	}
}

// encryptionOfCluster encrypts resources in each of the ways that need no plugin.
const encryptionOfCluster = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{aescbc: {keys: [{name: one, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]
- resources: [configmaps, deployments.apps]
  providers: [{aesgcm: {keys: [{name: two, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]
- resources: [services, events, ingresses.networking.k8s.io, issuers.cert-manager.io]
  providers: [{secretbox: {keys: [{name: three, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]
`

// TestClusterEncrypted checks that a gateway decrypts what a kube-apiserver has encrypted, and names what it cannot decrypt.
func TestClusterEncrypted(t *testing.T) {
	t.Parallel()
	needCluster(t)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "encryption.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write(encryptionOfCluster)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged",
		"--encryption-provider-config", config)
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS)}
	c.fill(t)
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints(), "--encryption-provider-config", config)
	c.revtail = connect(t, gw.URL, "", nil)
	encrypted := []string{"/api/v1/secrets", "/api/v1/configmaps", "/apis/apps/v1/deployments", "/api/v1/services", "/api/v1/events", "/apis/events.k8s.io/v1/events", "/apis/networking.k8s.io/v1/ingresses"}
	for _, path := range append(encrypted, "/api/v1/pods") {
		var list unstructured.UnstructuredList
		c.decode(t, path, &list)
		c.compare(t, read(path+"?resourceVersionMatch=Exact&resourceVersion="+list.GetResourceVersion()))
		if len(list.Items) == 0 {
			t.Errorf("%s has no objects", path)
		}
	}
	wrong := write(strings.ReplaceAll(encryptionOfCluster, "MDEy", "OTEy"))
	for name, args := range map[string][]string{"no keys": nil, "wrong keys": {"--encryption-provider-config", wrong}} {
		other := gatewaytest.Start(t, append(args, "--cluster", "--etcd-endpoints", etcd.Endpoints())...)
		if a := other.Do(t, http.MethodGet, "/api/v1/secrets", ""); a.Code != http.StatusInternalServerError || !strings.Contains(a.Body, "/registry/secrets/") {
			t.Errorf("%s: %d %.300s, want 500 that names a key", name, a.Code, a.Body)
		}
		if a := other.Do(t, http.MethodGet, "/api/v1/pods", ""); a.Code != http.StatusOK {
			t.Errorf("%s: pods: %d %.300s", name, a.Code, a.Body)
		}
	}
}

// TestClusterWritesNothing checks that a gateway serves everything with a user that may only read, and that etcd has no new revision meanwhile.
func TestClusterWritesNothing(t *testing.T) {
	t.Parallel()
	needCluster(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged")
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS)}
	c.fill(t)
	resources := c.resources(t)
	kube.Stop(t)
	before := gatewaytest.DialEtcd(t, etcd.Endpoints()).Revision(t)
	for _, command := range []string{"user add root:secret", "user grant-role root root", "user add reader:secret", "role add reader",
		"role grant-permission reader --prefix read /registry/", "role grant-permission reader --prefix read revtail/", "user grant-role reader reader", "auth enable"} {
		etcdctl(t, etcd.Endpoints(), strings.Fields(command)...)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints(), "--etcd-user", "reader", "--etcd-password-file", password)
	if !strings.Contains(gw.ReadyLine, "data=kube-apiserver mode=read-only") {
		t.Errorf("ready line: %s", gw.ReadyLine)
	}
	for _, r := range resources {
		if a := gw.Do(t, http.MethodGet, r.path, ""); a.Code != http.StatusOK {
			t.Errorf("%s: %d %.300s", r.path, a.Code, a.Body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		if a := gw.Do(t, method, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"x"}}`); a.Code != http.StatusMethodNotAllowed || !strings.Contains(a.Body, "kube-apiserver") {
			t.Errorf("%s: %d %s, want 405 that says why", method, a.Code, a.Body)
		}
	}
	<-time.After(11 * time.Second) // the gateway writes the time into an etcd of its own every ten seconds
	if now := etcdctl(t, etcd.Endpoints(), "--user=reader:secret", "get", "/registry/namespaces/default", "--write-out=json"); !strings.Contains(now, fmt.Sprintf(`"revision":%d,`, before)) {
		t.Errorf("revision %d before, now %.200s", before, now)
	}
	if log := gw.Log(t); strings.Contains(log, "permission denied") {
		t.Errorf("the gateway has tried what its user may not do:\n%s", log)
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
