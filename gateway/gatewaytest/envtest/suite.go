package envtest

import (
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// suite is the tests of a project.
type suite struct {
	name, about string
	module      string            // PATH@VERSION
	nested      map[string]string // modules that the project has in folders of its own, which its module lacks: PATH@VERSION by folder
	packages    []string          // the patterns of those with tests that use envtest
}

// suites are controller-runtime's own, and those of three operators that differ in what they ask of an API server. Their packages are those
// whose tests need a control plane and end in minutes.
var suites = []suite{
	{
		name: "controller-runtime", about: "the library of most operators: clients, caches, watches, server-side apply, webhooks, leader election",
		module: "sigs.k8s.io/controller-runtime@v0.25.2", packages: []string{"./pkg/..."},
	},
	{
		name: "karpenter", about: "node autoscaling: Nodes, Pods and evictions beside custom resources with CEL rules",
		module:   "sigs.k8s.io/karpenter@v1.14.1",
		packages: []string{"./pkg/apis/...", "./pkg/controllers/node/...", "./pkg/controllers/nodepool/..."},
	},
	{
		name: "cluster-api", about: "clusters as objects: large custom resources, server-side apply, admission webhooks, migration of stored versions",
		module: "sigs.k8s.io/cluster-api@v1.14.2", nested: map[string]string{"api": "sigs.k8s.io/cluster-api/api@v1.14.2"},
		packages: []string{
			"./core/webhooks/admission/test", "./internal/util/ssa/test", "./util/patch/test", "./core/reconcilers/clusterresourceset",
			"./controllers/crdmigrator", "./core/reconcilers/machineset", "./core/reconcilers/extensionconfig",
		},
	},
	{
		name: "gatekeeper", about: "policies: watches that come and go with their kinds, many controllers, admission policies",
		module: "github.com/open-policy-agent/gatekeeper/v3@v3.23.1",
		packages: []string{
			"./pkg/watch", "./pkg/readiness", "./pkg/controller/config/...", "./pkg/controller/connectionstatus", "./pkg/controller/constraint",
			"./pkg/controller/export", "./pkg/controller/mutators/...",
		},
	},
}

// rule says why some tests of a suite fail.
type rule struct {
	suite, why string
	tests      []string // parts of their names
}

func (r rule) covers(suite, name string) bool {
	if r.suite != suite {
		return false
	}
	for _, part := range r.tests {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// reason returns why a test of a suite fails.
func reason(suite, name string) (why string, known bool) {
	for _, r := range failing {
		if r.covers(suite, name) {
			return r.why, true
		}
	}
	return "The reason is not known yet", false
}

// server is what the suites run on: the folder with its programs, under the names that envtest looks for.
type server struct{ name, assets string }

// servers returns a kube-apiserver with an etcd, and revtail as `revtail envtest setup` makes it.
func servers(t *testing.T) (cluster, revtail server) {
	t.Helper()
	cluster, revtail = server{"kube-apiserver", t.TempDir()}, server{"revtail", t.TempDir()}
	for _, program := range []string{"kube-apiserver", "etcd", "kubectl"} {
		link(t, gatewaytest.Tool(t, program), cluster.assets, program)
	}
	setUp(t, revtail.assets)
	return cluster, revtail
}
