package clients

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestForeignArrival checks that a gateway with its own prefix notices a kube-apiserver that starts to use the prefix, and from then on
// does not change the data of that.
func TestForeignArrival(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 1)
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	gw := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints())
	gw.Create(t, maps, gatewaytest.ConfigMap("mine", "1"))
	server := gatewaytest.StartKubeAPIServer(t, cluster.Endpoints())
	gatewaytest.Until(t, "a gateway that has noticed a kube-apiserver", func() bool {
		return strings.Contains(gw.Do(t, http.MethodGet, "/readyz?verbose", "").Body, "[!]claim the data is not revtail's own")
	})
	journal := etcd.Follow(t, etcd.Revision(t))
	populate(t, server)
	judge := newJudge(t, etcd)
	visit(t, nil, visitor{gw, slices.Concat(everyWrite...)})
	judge.check(t, isKubernetesOwn)
	changes, _ := journal.Now(t)
	for _, change := range changes {
		if strings.HasPrefix(change.Key, "revtail") || change.Deleted && !isKubernetesOwn(change) {
			t.Errorf("%s", change)
		}
	}
}
