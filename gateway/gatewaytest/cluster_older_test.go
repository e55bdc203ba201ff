package gatewaytest_test

import (
	"compress/gzip"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"revtail/gateway/gatewaytest"
)

// recordTo is for a new file of testdata: -run 'TestRecordCluster$' -args -record-cluster testdata/cluster-1.30, where REVTAIL_TOOLS names a folder with etcd,
// etcdctl and the older kube-apiserver, which is built of its Go module. That of Kubernetes 1.30 has served resource.k8s.io/v1alpha2 too (-record-args).
var recordTo = flag.String("record-cluster", "", "write a snapshot of the etcd of a kube-apiserver to `NAME`.db.gz, and what that answers to NAME.json.gz")

// recordedArgs are further arguments of the kube-apiserver of recordTo.
var recordedArgs = flag.String("record-args", "", "further `arguments` of the kube-apiserver of -record-cluster, separated by spaces")

// recordedCluster is what a kube-apiserver answers about the snapshot beside it.
type recordedCluster struct {
	Version string                    // of the kube-apiserver
	Lists   map[string]map[string]any // by the paths of their resources
}

// TestRecordCluster records a cluster.
func TestRecordCluster(t *testing.T) {
	if *recordTo == "" {
		t.Skip("-record-cluster names the file of a cluster that is recorded")
	}
	etcd := gatewaytest.StartEtcd(t, 1)
	args := append([]string{"--disable-admission-plugins", unusedPlugins + ",ServiceAccount", "--allow-privileged"}, strings.Fields(*recordedArgs)...)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), args...)
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS), etcd: etcd, writer: kube}
	c.fillAsFarAsPossible(t)
	var version struct{ GitVersion string }
	c.decode(t, "/version", &version)
	recorded := recordedCluster{Version: version.GitVersion, Lists: make(map[string]map[string]any)}
	for _, r := range c.resources(t) {
		answer := c.kube.do(t, read(r.path))
		list, _ := answer.Body.(map[string]any)
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %v", r.path, answer.Code, answer.Body)
		}
		if items, _ := list["items"].([]any); len(items) > 0 {
			recorded.Lists[r.path] = list
		}
	}
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints())
	c.revtail = connect(t, gw.URL, "", nil)
	recorded.compare(t, c.revtail)
	for _, path := range []string{"/api/v1/pods", "/api/v1/configmaps", "/apis/example.com/v1/widgets", "/apis/rbac.authorization.k8s.io/v1/clusterroles"} {
		c.compareWatch(t, path+"?watch=1&timeoutSeconds=1&resourceVersion=0")
	}
	kube.Kill(t) // at its end it would remove its own address from Endpoints
	etcdctl(t, etcd.Endpoints(), "defrag")
	file := filepath.Join(t.TempDir(), "snapshot.db")
	etcdctl(t, etcd.Endpoints(), "snapshot", "save", file)
	snapshot, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	compress(t, *recordTo+".db.gz", snapshot)
	compress(t, *recordTo+".json.gz", answers)
	t.Logf("%s: %d resources with objects", version.GitVersion, len(recorded.Lists))
}

// fillAsFarAsPossible creates the objects of testdata/kinds.yaml and testdata/older.yaml that a kube-apiserver accepts. The latter begins with a definition
// and an object of it.
func (c *replica) fillAsFarAsPossible(t *testing.T) {
	t.Helper()
	served := make(map[string]replicaResource)
	for _, r := range c.resources(t) {
		served[strings.TrimSuffix(r.path, r.Name)+r.Kind] = r
	}
	older := gatewaytest.ReadManifest(t, "testdata/older.yaml")
	for _, object := range append(gatewaytest.ReadManifest(t, "testdata/kinds.yaml"), older[2:]...) {
		root := "/apis/" + object.GetAPIVersion() + "/"
		if object.GroupVersionKind().Group == "" {
			root = "/api/v1/"
		}
		r, ok := served[root+object.GetKind()]
		if !ok {
			t.Logf("%s %s is not served", object.GetAPIVersion(), object.GetKind())
			continue
		}
		path := r.path
		if r.Namespaced {
			path = root + "namespaces/default/" + r.Name
			if namespace := object.GetNamespace(); namespace != "" {
				path = root + "namespaces/" + namespace + "/" + r.Name
			}
		}
		if answer := c.kube.do(t, write(http.MethodPost, path, object.Object)); answer.Code != http.StatusCreated {
			t.Logf("%s %s: %d %v", path, object.GetName(), answer.Code, answer.Body)
		}
	}
	c.create(t, older[0])
	c.awaitServed(t, older[0])
	c.create(t, older[1])
}

func compress(t *testing.T, path string, content []byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func uncompress(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it is only read
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// withdrawn are resources of older clusters in versions that Kubernetes 1.37 does not have any more, with the resource that has the objects.
var withdrawn = map[string]string{
	"/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas":                 "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
	"/apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations": "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
}

// undecodable are resources of older clusters in versions whose objects Kubernetes 1.37 cannot decode, with the resource that names their keys.
var undecodable = map[string]string{
	"/apis/resource.k8s.io/v1alpha2/resourceclaims": "/apis/resource.k8s.io/v1/resourceclaims",
}

// newFields are fields that Kubernetes 1.37 fills in where older versions do not have them, or writes in another way.
var newFields = map[string][]string{
	"/apis/storage.k8s.io/v1/csidrivers":            {"spec", "preventPodSchedulingIfMissing"},
	"/apis/storage.k8s.io/v1/csinodes":              {"status"},
	"/apis/apps/v1/statefulsets":                    {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"},
	"/apis/autoscaling/v1/horizontalpodautoscalers": {"metadata", "annotations", "autoscaling.alpha.kubernetes.io/behavior"},
}

// TestOpenOlderClusters opens snapshots of the etcds of older kube-apiservers, and compares what it answers with what those have answered: lists and
// objects of every resource, field by field.
func TestOpenOlderClusters(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cluster-*.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var recorded recordedCluster
			if err := json.Unmarshal(uncompress(t, strings.TrimSuffix(file, ".db.gz")+".json.gz"), &recorded); err != nil {
				t.Fatal(err)
			}
			snapshot := filepath.Join(t.TempDir(), "snapshot.db")
			if err := os.WriteFile(snapshot, uncompress(t, file), 0o600); err != nil {
				t.Fatal(err)
			}
			line := openFile(t, snapshot, "--redact", "none")
			if !strings.Contains(line, "data=kube-apiserver") {
				t.Errorf("ready line: %s", line)
			}
			recorded.compare(t, connect(t, urlOfReady.FindStringSubmatch(line)[1], "", nil))
		})
	}
}

// compare compares the answers of a gateway with the recorded ones.
func (c *recordedCluster) compare(t *testing.T, revtail apiServer) {
	t.Helper()
	objects := 0
	for path, list := range c.Lists {
		answer := revtail.do(t, read(path))
		if answer.Code == http.StatusNotFound && c.Lists[withdrawn[path]] != nil {
			continue
		}
		if named := undecodable[path]; answer.Code == http.StatusNotFound && named != "" {
			wantNamed(t, revtail, named, itemsOf(path, apiAnswer{Body: list}))
			continue
		}
		want, got := itemsOf(path, apiAnswer{Body: list}), itemsOf(path, answer)
		if !reflect.DeepEqual(want, got) || answer.Code != http.StatusOK || strings.Contains(strings.Join(answer.Warnings, ""), "is not shown") {
			t.Errorf("%s: %d %v (-%s +revtail):\n%s", path, answer.Code, answer.Warnings, c.Version, cmp.Diff(want, got))
			continue
		}
		r := replicaResource{APIResource: metav1.APIResource{Name: path[strings.LastIndexByte(path, '/')+1:]}, path: path}
		for _, item := range want {
			object := unstructured.Unstructured{Object: item}
			r.Namespaced = object.GetNamespace() != ""
			one := itemsOf(path, apiAnswer{Body: map[string]any{"items": []any{revtail.do(t, read(r.pathOf(object))).Body}}})
			if diff := cmp.Diff([]map[string]any{item}, one); diff != "" {
				t.Errorf("%s (-%s +revtail):\n%s", r.pathOf(object), c.Version, diff)
			}
			objects++
		}
	}
	const least = 150
	if objects < least {
		t.Errorf("%d objects compared, want at least %d", objects, least)
	}
	t.Logf("%s: %d objects of %d resources compared", c.Version, objects, len(c.Lists))
}

// wantNamed checks that a list is served without objects that cannot be decoded, and that a warning names each of them.
func wantNamed(t *testing.T, revtail apiServer, path string, objects []map[string]any) {
	t.Helper()
	answer := revtail.do(t, read(path))
	for _, object := range objects {
		name := unstructured.Unstructured{Object: object}
		if said := strings.Join(answer.Warnings, ""); answer.Code != http.StatusOK || !strings.Contains(said, name.GetNamespace()+"/"+name.GetName()) || !strings.Contains(said, "is not shown") {
			t.Errorf("%s: %d %v, want a warning that names %s/%s", path, answer.Code, answer.Warnings, name.GetNamespace(), name.GetName())
		}
	}
}

// itemsOf returns the items of a list without newFields, and without the Leases of kube-apiservers, which have changed meanwhile.
func itemsOf(path string, answer apiAnswer) (out []map[string]any) {
	body, _ := comparable(answer).Body.(map[string]any)
	items, _ := body["items"].([]any)
	for _, item := range items {
		object := unstructured.Unstructured{Object: item.(map[string]any)}
		if object.GetNamespace() != "kube-system" || !strings.HasPrefix(object.GetName(), "apiserver-") {
			dropNullTimes(object.Object)
			if fields := newFields[path]; fields != nil {
				unstructured.RemoveNestedField(object.Object, fields...)
			}
			out = append(out, object.Object)
		}
	}
	return out
}

// dropNullTimes removes what kube-apiservers before 1.34 write into the metadata of templates: creationTimestamp: null.
func dropNullTimes(value any) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			dropNullTimes(each)
		}
	case map[string]any:
		if at, ok := v["creationTimestamp"]; ok && at == nil {
			delete(v, "creationTimestamp")
		}
		for _, each := range v {
			dropNullTimes(each)
		}
	}
}
