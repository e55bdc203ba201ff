package gatewaytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"revtail/gateway/gatewaytest"
)

// addressesInUse says which Service has which cluster IP or node port.
type addressesInUse struct {
	t      *testing.T
	holder map[string]string
	of     map[string][]string
	events int
}

// apply follows an event of Services.
func (u *addressesInUse) apply(event gatewaytest.Event) {
	u.t.Helper()
	var frame struct{ Object corev1.Service }
	if err := json.Unmarshal([]byte(event.Line), &frame); err != nil {
		u.t.Fatal(err)
	}
	name := frame.Object.Name
	for _, address := range u.of[name] {
		delete(u.holder, address)
	}
	delete(u.of, name)
	u.events++
	if event.Type == "DELETED" {
		return
	}
	has := slices.Clone(frame.Object.Spec.ClusterIPs)
	for _, port := range frame.Object.Spec.Ports {
		if port.NodePort != 0 {
			has = append(has, fmt.Sprint(port.NodePort))
		}
	}
	for _, address := range has {
		if other := u.holder[address]; other != "" {
			u.t.Errorf("%s and %s have %s", name, other, address)
		}
		u.holder[address] = name
	}
	u.of[name] = has
}

// TestServiceAddressesSurviveKills creates and deletes Services on two gateways, which are killed in turn, with addresses that clients and gateways choose,
// and checks in the order of their events that no two of them ever have the same address.
func TestServiceAddressesSurviveKills(t *testing.T) {
	t.Parallel()
	const services, kills, clients = "/api/v1/namespaces/default/services", 6, 6
	etcd := gatewaytest.StartEtcd(t, 1)
	args := []string{"--etcd-endpoints", etcd.Endpoints(), "--service-cluster-ip-range=10.96.0.0/25", "--service-node-port-range=30000-30127"}
	var gateways [3]*gatewaytest.Gateway // the last one lives
	for i := range gateways {
		gateways[i] = gatewaytest.Start(t, args...)
	}
	ctx, stop := context.WithCancel(t.Context())
	var created, taken atomic.Int64
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("s%d-%d", c, i%10)
				spec := `"type":"NodePort","ports":[{"port":80}]`
				if i%2 == 0 {
					spec = fmt.Sprintf(`"type":"NodePort","clusterIP":"10.96.0.%d","ports":[{"port":80,"nodePort":%d}]`, 1+i%12, 30000+i%12)
				}
				to := gateways[(c+i)%len(gateways)]
				answer, err := to.Try(ctx, http.MethodPost, services, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"`+name+`"},"spec":{`+spec+`}}`)
				switch {
				case err != nil: // it was killed
				case answer.Code == http.StatusCreated:
					created.Add(1)
				case answer.Code == http.StatusUnprocessableEntity && strings.Contains(answer.Body, "already allocated"):
					taken.Add(1)
				}
				if i%3 == 2 {
					_, _ = gateways[2].Try(ctx, http.MethodDelete, fmt.Sprintf("%s/s%d-%d", services, c, (i+5)%10), "") // it need not exist
				}
			}
		})
	}
	for i := range kills {
		enough := created.Load() + 40
		gatewaytest.Until(t, "more Services", func() bool { return created.Load() >= enough })
		gateways[i%2].Kill(t)
		gateways[i%2].Restart(t)
	}
	stop()
	running.Wait()
	watch := gateways[2].Watch(t, services+"?watch=1&resourceVersion=1")
	last := gateways[2].Create(t, services, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"last"},"spec":{"ports":[{"port":80}]}}`)
	used := &addressesInUse{t: t, holder: make(map[string]string), of: make(map[string][]string)}
	for {
		event := watch.Next(t)
		used.apply(event)
		if event.Object.Metadata.Name == last.Metadata.Name {
			break
		}
	}
	var want []string
	for address := range used.holder {
		if strings.Contains(address, ".") {
			want = append(want, address)
		}
	}
	slices.Sort(want)
	gatewaytest.Until(t, "an IPAddress for each cluster IP", func() bool {
		var list networkingv1.IPAddressList
		answer := gateways[2].Do(t, http.MethodGet, "/apis/networking.k8s.io/v1/ipaddresses", "")
		if err := json.Unmarshal([]byte(answer.Body), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range list.Items {
			if ref := list.Items[i].Spec.ParentRef; ref.Name == used.holder[list.Items[i].Name] {
				got = append(got, list.Items[i].Name)
			}
		}
		slices.Sort(got)
		return len(list.Items) == len(want) && slices.Equal(got, want)
	})
	t.Logf("%d Services were created, %d found an address taken; %d events are checked", created.Load(), taken.Load(), used.events)
	if taken.Load() == 0 {
		t.Error("no Service wanted an address that another one had")
	}
}
