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

// recordTo is for a new file of testdata: REVTAIL_TOOLS names a folder with etcd, etcdctl and the older kube-apiserver.
var recordTo = flag.String("record-cluster", "", "write a snapshot of the etcd of a kube-apiserver to `NAME`.db.gz, and what that answers to NAME.json.gz")

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
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged")
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS), etcd: etcd, writer: kube}
	c.fillAsFarAsPossible(t)
	var version struct{ GitVersion string }
	c.decode(t, "/version", &version)
	recorded := recordedCluster{Version: version.GitVersion, Lists: make(map[string]map[string]any)}
	for _, r := range c.resources(t) {
		var list map[string]any
		c.decode(t, r.path, &list)
		if items, _ := list["items"].([]any); len(items) > 0 {
			recorded.Lists[r.path] = list
		}
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

// fillAsFarAsPossible creates the objects of testdata/kinds.yaml that a kube-apiserver accepts, and one of a definition.
func (c *replica) fillAsFarAsPossible(t *testing.T) {
	t.Helper()
	served := make(map[string]replicaResource)
	for _, r := range c.resources(t) {
		served[strings.TrimSuffix(r.path, r.Name)+r.Kind] = r
	}
	for _, object := range gatewaytest.ReadManifest(t, "testdata/kinds.yaml") {
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
	definition := gatewaytest.ReadManifest(t, "testdata/widgets.yaml")
	c.create(t, definition[0])
	c.awaitServed(t, definition[0])
	c.create(t, definition[1:]...)
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

// withdrawn are resources of older clusters that Kubernetes 1.37 does not serve in this version any more, with what it does instead.
var withdrawn = map[string]string{}

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
		if answer.Code == http.StatusNotFound && withdrawn[path] != "" {
			continue
		}
		want, got := itemsOf(apiAnswer{Code: http.StatusOK, Body: list}), itemsOf(answer)
		if !reflect.DeepEqual(want, got) || answer.Code != http.StatusOK || strings.Contains(strings.Join(answer.Warnings, ""), "is not shown") {
			t.Errorf("%s: %d %v (-%s +revtail):\n%s", path, answer.Code, answer.Warnings, c.Version, cmp.Diff(want, got))
			continue
		}
		r := replicaResource{APIResource: metav1.APIResource{Name: path[strings.LastIndexByte(path, '/')+1:]}, path: path}
		for _, item := range want {
			object := unstructured.Unstructured{Object: item}
			r.Namespaced = object.GetNamespace() != ""
			one := revtail.do(t, read(r.pathOf(object)))
			body, _ := one.Body.(map[string]any)
			delete(body, "kind")
			delete(body, "apiVersion")
			if !reflect.DeepEqual(item, body) {
				t.Errorf("%s (-%s +revtail):\n%s", r.pathOf(object), c.Version, cmp.Diff(item, body))
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

// itemsOf returns the items of a list without the Leases of kube-apiservers, which have changed meanwhile.
func itemsOf(answer apiAnswer) (out []map[string]any) {
	body, _ := comparable(answer).Body.(map[string]any)
	items, _ := body["items"].([]any)
	for _, item := range items {
		object := unstructured.Unstructured{Object: item.(map[string]any)}
		if object.GetNamespace() != "kube-system" || !strings.HasPrefix(object.GetName(), "apiserver-") {
			out = append(out, object.Object)
		}
	}
	return out
}
