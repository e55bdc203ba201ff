package clients

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/gatewaytest"
)

// TestCluster checks that a revision of one gateway is valid on another one, with three members of etcd, and that neither the end of a
// member nor that of a gateway makes a client of the other gateway list again.
func TestCluster(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartEtcd(t, 3)
	one := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	two := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	viaOne, viaTwo := newClient(t, one).configMaps(t), newClient(t, two).configMaps(t)
	create(t, viaOne, "a", "1")
	informers := []*informer{startInformer(t, one, "dynamic"), startInformer(t, two, "typed")}
	expect := func(calls ...string) {
		t.Helper()
		for _, i := range informers {
			i.expect(t, calls...)
		}
	}
	expect("add a 1")

	create(t, viaTwo, "b", "1")
	changed := update(t, viaOne, "b", "2")
	seen, err := viaTwo.Get(t.Context(), "b", metav1.GetOptions{ResourceVersion: changed.GetResourceVersion()})
	if err != nil || seen.GetResourceVersion() != changed.GetResourceVersion() {
		t.Errorf("the other gateway at revision %s: %v, %v", changed.GetResourceVersion(), seen, err)
	}
	expect("add b 1", "update b 1 2")
	for i, other := range []*gatewaytest.Gateway{two, one} {
		watch := other.Watch(t, "/api/v1/configmaps?watch=1&resourceVersion="+changed.GetResourceVersion())
		name := fmt.Sprint("seen-", i)
		create(t, viaOne, name, "1")
		expect("add " + name + " 1")
		if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "seen-0" {
			t.Errorf("a watch from a revision of the first gateway: %s", event.Line)
		}
	}

	for i, member := range etcd.Members {
		member.Kill(t)
		settle(t, one, fmt.Sprint("one-", i))
		settle(t, two, fmt.Sprint("two-", i))
		value := fmt.Sprint("without member ", i)
		create(t, viaOne, fmt.Sprint("c", i), value)
		update(t, viaTwo, fmt.Sprint("c", i), "changed")
		expect(fmt.Sprintf("add c%d %s", i, value), fmt.Sprintf("update c%d %s changed", i, value))
		member.Restart(t)
		gatewaytest.DialEtcd(t, member.Endpoint).Revision(t)
	}
	one.Kill(t)
	create(t, viaTwo, "d", "1")
	one.Restart(t)
	expect("add d 1")
	for _, i := range informers {
		i.checkStore(t, one)
		i.checkStore(t, two)
		i.requests.expectState(t, "configmaps", 1)
	}
}

// settle waits until writes work again: a write in progress when a member died may have been done or not.
func settle(t *testing.T, gw *gatewaytest.Gateway, name string) {
	t.Helper()
	attempt := 0
	gatewaytest.Until(t, "a write after the end of a member", func() bool {
		attempt++
		secret := fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"%s-%d"}}`, name, attempt)
		answer := gw.Do(t, http.MethodPost, "/api/v1/namespaces/default/secrets", secret)
		if answer.Code != http.StatusCreated && answer.Object.Reason != "OutcomeUnknown" && answer.Object.Reason != "ServiceUnavailable" {
			t.Errorf("a write after the end of a member: %d %s", answer.Code, answer.Body)
		}
		return answer.Code == http.StatusCreated
	})
}
