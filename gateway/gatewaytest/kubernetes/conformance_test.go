package kubernetes

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

var running = flag.Bool("suite", false, "run Kubernetes' conformance tests, which takes minutes, and rewrite "+document)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// TestConformance runs the chosen tests and rewrites the document. It fails if a test fails that is not known to, or if one passes that is.
// With -short it runs those that need no controller and do not wait, and leaves the document as it is.
func TestConformance(t *testing.T) {
	if !*running {
		t.Skip("`make conformance-kubernetes` runs the suite")
	}
	gw := startCluster(t)
	s := newSuite(t, gw)
	names := s.list(t)
	chosen, err := choose(names, servedResources(t, gw))
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		chosen.run = slices.DeleteFunc(chosen.run, func(name string) bool { return controlled.covers(name) || waiting.covers(name) })
	}
	t.Logf("%d of %d conformance tests are run", len(chosen.run), len(names))
	result := outcome{version: s.version(t), names: names, selection: chosen, failed: map[string]string{}}
	results := s.try(t, chosen.run)
	for _, name := range chosen.run {
		one, ok := results[name]
		known, isKnown := find(failing, name)
		switch {
		case ok && one.State == "passed" && isKnown:
			t.Errorf("%s passes: take it out of the list of failing tests", name)
			fallthrough
		case ok && one.State == "passed":
			result.passed = append(result.passed, name)
		case isKnown:
			result.failed[name] = known.what
		default:
			result.failed[name] = "The reason is not known yet"
			t.Errorf("%s: %s at %s:%d: %s", name, one.State, one.Failure.Location.FileName, one.Failure.Location.LineNumber, one.Failure.Message)
		}
	}
	if testing.Short() {
		return
	}
	file, err := os.Create(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.write(file); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d of %d conformance tests pass, %d fail, %d are not run: see %s", len(result.passed), len(names), len(result.failed), len(result.reasons), document)
}

// startCluster starts a gateway with what every cluster has and, but for -short, with controllers, a scheduler and nodes.
func startCluster(t *testing.T) *gatewaytest.Gateway {
	t.Helper()
	args := []string{"--anonymous", "--policy-file", everything(t), "--create-namespaces", "--service-cluster-ip-range=10.0.0.0/16",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-signing-key-file", signingKey(t)}
	if !testing.Short() {
		args = append(args, "--garbage-collector=false", "--external-garbage-collector")
	}
	gw := gatewaytest.Start(t, args...)
	for collection, object := range cluster {
		if a := gw.Do(t, http.MethodPost, collection, object); a.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", collection, a.Code, a.Body)
		}
	}
	gatewaytest.Until(t, "the ServiceCIDR of the gateway's range", func() bool {
		return gw.Do(t, http.MethodGet, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes", "").Code == http.StatusOK
	})
	if testing.Short() {
		createNodes(t, gw, `{"conditions":[{"type":"Ready","status":"True"}]}`)
		return gw
	}
	createNodes(t, gw, "{}") // KWOK sets it
	stages, err := filepath.Abs("../../../deploy/kwok.yaml")
	if err != nil {
		t.Fatal(err)
	}
	gatewaytest.StartControlPlane(t, gw, stages)
	awaitNodes(t, gw)
	return gw
}

// cluster are the objects that every cluster has, by their collection: the suite looks them up.
var cluster = map[string]string{
	"/api/v1/namespaces/default/services": `{"metadata":{"name":"kubernetes","labels":{"component":"apiserver","provider":"kubernetes"}},
		"spec":{"type":"ClusterIP","clusterIP":"10.0.0.1","ports":[{"name":"https","port":443,"protocol":"TCP","targetPort":6443}]}}`,
}

const nodesPath = "/api/v1/nodes"

// createNodes creates nodes with a status.
func createNodes(t *testing.T, gw *gatewaytest.Gateway, status string) {
	t.Helper()
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i+1)
		object := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q}},"status":%s}`, name, name, status)
		if a := gw.Do(t, http.MethodPost, nodesPath, object); a.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", nodesPath, a.Code, a.Body)
		}
	}
}

// awaitNodes waits until KWOK says that the nodes are ready.
func awaitNodes(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	gatewaytest.Until(t, "nodes that are ready", func() bool {
		return strings.Count(gw.Do(t, http.MethodGet, nodesPath+"?pretty=0", "").Body, `"reason":"KubeletReady"`) == nodes
	})
}

// everything writes a policy that lets every user do everything, and returns its path: reviews of other users need a policy.
func everything(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	const policy = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:unauthenticated"}
`
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signingKey writes a key for tokens of service accounts, and returns its path.
func signingKey(t *testing.T) string {
	t.Helper()
	_, key := gatewaytest.NewAuthority(t, "tokens").Issue(t, "tokens").Write(t, t.TempDir(), "tokens")
	return key
}

// servedResources returns the names of the resources that the gateway serves: "pods", "deployments.apps".
func servedResources(t *testing.T, gw *gatewaytest.Gateway) map[string]bool {
	t.Helper()
	served := map[string]bool{}
	add := func(path, suffix string) {
		var list struct{ Resources []struct{ Name string } }
		read(t, gw, path, &list)
		for _, r := range list.Resources {
			served[r.Name+suffix] = true
		}
	}
	add("/api/v1", "")
	var groups struct {
		Groups []struct {
			Name     string
			Versions []struct{ GroupVersion string }
		}
	}
	read(t, gw, "/apis", &groups)
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			add("/apis/"+v.GroupVersion, "."+g.Name)
		}
	}
	return served
}

// read decodes a document of the gateway.
func read(t *testing.T, gw *gatewaytest.Gateway, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(gw.Do(t, http.MethodGet, path, "").Body), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestChoose checks that a test is run if its kind is served, and that every test needs a decision.
func TestChoose(t *testing.T) {
	const quota, watcher, pods = "[sig-api-machinery] ResourceQuota should manage the lifecycle of a ResourceQuota [Conformance]",
		"[sig-api-machinery] Watchers should observe [Conformance]", "[sig-node] Probing container should be restarted [Conformance]"
	names := []string{quota, watcher, pods}
	without, err := choose(names, nil)
	if err == nil || !strings.Contains(err.Error(), "no test is called") {
		t.Errorf("tests are missing, and the error is %v", err)
	}
	if without.reasons[quota] != "revtail does not serve resourcequotas" || without.reasons[pods] == "" || len(without.run) != 1 || without.run[0] != watcher {
		t.Errorf("without the kind: %v", without)
	}
	if with, _ := choose(names, map[string]bool{"resourcequotas": true}); len(with.run) != 2 {
		t.Errorf("with the kind: %v", with)
	}
	if _, err := choose([]string{"[sig-new] Thing should work"}, nil); err == nil || !strings.Contains(err.Error(), `no decision about ["[sig-new] Thing should work"]`) {
		t.Errorf("an unknown test: %v", err)
	}
}
