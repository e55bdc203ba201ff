package gatewaytest_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

var urlOfReady = regexp.MustCompile(`http=(\S+)`)

// compareSnapshot ends the kube-apiserver and compares what a gateway answers live with what `revtail open` answers of a snapshot of its etcd: lists,
// pages, tables and objects of each resource.
func (c *replica) compareSnapshot(t *testing.T, resources []replicaResource) {
	t.Helper()
	c.writer.Stop(t)
	file := filepath.Join(t.TempDir(), "snapshot.db")
	etcdctl(t, c.etcd.Endpoints(), "snapshot", "save", file)
	snapshot := connect(t, urlOfReady.FindStringSubmatch(openFile(t, file, "--redact", "none"))[1], "", nil)
	exact := fmt.Sprintf("?resourceVersionMatch=Exact&resourceVersion=%d", gatewaytest.DialEtcd(t, c.etcd.Endpoints()).Revision(t))
	objects := 0
	for _, r := range resources {
		requests := []apiRequest{read(r.path), read(r.path + "?limit=1"), read(r.path + exact), tableOf(r.path)}
		var list unstructured.UnstructuredList
		c.revtail.decode(t, r.path, &list)
		for _, item := range list.Items {
			requests = append(requests, read(r.pathOf(item)), tableOf(r.pathOf(item)))
			objects++
		}
		for _, request := range requests {
			live, saved := comparable(c.revtail.do(t, request)), comparable(snapshot.do(t, request))
			if !reflect.DeepEqual(live, saved) || live.Code != http.StatusOK {
				t.Errorf("%s %s: %d (-live +snapshot):\n%s", request.path, request.accept, live.Code, cmp.Diff(live, saved))
			}
		}
	}
	const least = 200
	if objects < least {
		t.Errorf("%d objects of a snapshot, want at least %d", objects, least)
	}
	t.Logf("%d objects of a snapshot compared", objects)
}
