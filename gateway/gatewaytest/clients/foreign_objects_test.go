package clients

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// unclaimed are objects that no gateway has claimed, as a user of etcdctl writes them, or a program that revtail does not know. A gateway
// would act on each of them if they were its own.
var unclaimed = []string{
	"/registry/configmaps/default/a", `{"data":{}}`,
	"/registry/configmaps/default/dangling", `{"metadata":{"uid":"1","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"2"}]}}`,
	"/registry/configmaps/default/foreground", `{"metadata":{"uid":"3","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["foregroundDeletion"]}}`,
	"/registry/namespaces/ending", `{"metadata":{"uid":"4","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"finalizers":["kubernetes"]}}`,
	"/registry/configmaps/ending/b", `{"data":{}}`,
	"/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.proof.example.com", `{"metadata":{"uid":"5"},"spec":{"group":"proof.example.com","scope":"Namespaced",` +
		`"names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
}

// collectable are the objects that a gateway deletes when they are its own.
var collectable = []string{unclaimed[2], unclaimed[4], unclaimed[6], unclaimed[8]}

// TestForeignObjects checks that unclaimed data is only read, that with --writable only clients write to it, and that with --adopt it
// becomes the gateway's own.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 1)
	for pair := range slices.Chunk(unclaimed, 2) {
		put(t, cluster.Endpoints(), pair[0], pair[1])
	}
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	t.Run("read-only", func(t *testing.T) {
		judge := newJudge(t, etcd)
		visitors := arrive(t, cluster.Endpoints(), []place{
			{"", foreign, someWrites},
			{"--etcd-prefix /registry/configmaps", foreign, someWrites},
			{"--etcd-prefix /registry/nothing", "", nil},
		})
		for _, v := range visitors {
			v.tryAll(t)
		}
		visit(t, nil, visitors...)
		judge.check(t, noWriter)
	})
	t.Run("writable", func(t *testing.T) { checkWritable(t, cluster.Endpoints(), etcd) })
	t.Run("adopted", func(t *testing.T) { checkAdopted(t, cluster.Endpoints(), etcd) })
}

// put writes a key as a user does.
func put(t *testing.T, endpoints, key, value string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "etcdctl"), "--endpoints", endpoints, "put", key, value).CombinedOutput()
	if err != nil {
		t.Fatalf("etcdctl put %s: %v\n%s", key, err, output)
	}
}

// checkWritable checks that a gateway with --writable makes the writes of clients, and no others.
func checkWritable(t *testing.T, endpoints string, etcd *gatewaytest.Keys) {
	t.Helper()
	judge := newJudge(t, etcd)
	gw := gatewaytest.Start(t, "--etcd-endpoints", endpoints, "--writable")
	if !strings.HasSuffix(gw.ReadyLine, " data=foreign mode=writable") {
		t.Errorf("the ready line is %q", gw.ReadyLine)
	}
	owner := gw.Create(t, maps, gatewaytest.ConfigMap("owner", "1"))
	gw.Create(t, maps, owned("v1", "ConfigMap", "dependent", owner))
	gw.Delete(t, maps+"/owner")
	gw.Patch(t, maps+"/a", `{"data":{"value":"2"}}`)
	visit(t, nil, visitor{gw: gw})
	gw.Get(t, maps+"/dependent")
	asked := []string{"/registry/configmaps/default/owner", "/registry/configmaps/default/dependent", "/registry/configmaps/default/owner", "/registry/configmaps/default/a"}
	judge.check(t, func(change gatewaytest.Change) bool {
		if len(asked) == 0 || change.Key != asked[0] {
			return false
		}
		asked = asked[1:]
		return true
	})
	if len(asked) > 0 {
		t.Errorf("not written: %v", asked)
	}
}

// checkAdopted checks that a gateway with --adopt makes data its own: it acts on it, and writes nothing elsewhere.
func checkAdopted(t *testing.T, endpoints string, etcd *gatewaytest.Keys) {
	t.Helper()
	etcd.Put(t, programData...)
	judge := newJudge(t, etcd)
	gw := gatewaytest.Start(t, "--etcd-endpoints", endpoints, "--adopt")
	if strings.Contains(gw.ReadyLine, " data=") {
		t.Errorf("the ready line is %q", gw.ReadyLine)
	}
	gatewaytest.Until(t, "what is to be deleted is gone", func() bool {
		left := etcd.All(t)
		return !slices.ContainsFunc(collectable, func(key string) bool { return slices.Contains(left, key) })
	})
	gw.Create(t, maps, gatewaytest.ConfigMap("new", "1"))
	if later := gatewaytest.Start(t, "--etcd-endpoints", endpoints); strings.Contains(later.ReadyLine, " data=") {
		t.Errorf("the ready line of the next gateway is %q", later.ReadyLine)
	}
	if value, _ := etcd.Get(t, "revtail/claims/registry"); value == "" {
		t.Error("there is no marker")
	}
	judge.check(t, func(change gatewaytest.Change) bool {
		return strings.HasPrefix(change.Key, "/registry/") || strings.HasPrefix(change.Key, "revtail/")
	})
}
