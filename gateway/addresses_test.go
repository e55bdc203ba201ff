package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

const services = "/api/v1/namespaces/default/services"

// serveAddresses starts a gateway that allocates cluster IPs of networks, and node ports from 30000 on.
func serveAddresses(t *testing.T, store *memory.Store, ports int, networks ...string) *testServer {
	t.Helper()
	options := Options{Store: store, Logger: slog.New(slog.DiscardHandler), ServiceNodePorts: utilnet.PortRange{Base: 30000, Size: ports}, GarbageCollector: true}
	for _, network := range networks {
		options.ServiceClusterIPs = append(options.ServiceClusterIPs, netip.MustParsePrefix(network))
	}
	return serveLogged(t, store, options)
}

// service returns a Service with the members of its spec.
func service(name, spec string) string {
	return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`
}

// addressesOf returns the cluster IPs and the node ports of a Service.
func addressesOf(object map[string]any) (ips []string, ports []int64) {
	ips, _, _ = unstructured.NestedStringSlice(object, "spec", "clusterIPs")
	all, _, _ := unstructured.NestedSlice(object, "spec", "ports")
	for _, port := range all {
		if n, found, _ := unstructured.NestedFloat64(port.(map[string]any), "nodePort"); found {
			ports = append(ports, int64(n))
		}
	}
	return ips, ports
}

// reservations returns the keys of addresses that are being allocated.
func (s *testServer) reservations() (keys []string) {
	s.t.Helper()
	page, err := s.store.List(s.t.Context(), "revtail/addresses/", etcdstore.ListOptions{KeysOnly: true})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, kv := range page.KVs {
		if !strings.HasSuffix(kv.Key, "/written") {
			keys = append(keys, kv.Key)
		}
	}
	return keys
}

func TestServiceAddresses(t *testing.T) {
	s := serveAddresses(t, memory.New(), 2768, "10.96.0.0/24", "fd00::/112")
	const port = `"ports":[{"port":80}]`
	for _, test := range []struct{ name, spec, ips, ports string }{
		{"plain", port, "10.96.0.", ""},
		{"both", port + `,"ipFamilyPolicy":"PreferDualStack"`, "10.96.0. fd00::", ""},
		{"six", port + `,"ipFamilies":["IPv6"]`, "fd00::", ""},
		{"ports", port + `,"type":"NodePort"`, "10.96.0.", "3"},
		{"balanced", port + `,"type":"LoadBalancer"`, "10.96.0.", "3"},
		{"chosen", `"type":"NodePort","clusterIP":"10.96.0.7","ports":[{"port":80,"nodePort":30007}]`, "10.96.0.7", "30007"},
		{"headless", port + `,"clusterIP":"None","selector":{"a":"b"}`, "None", ""},
		{"elsewhere", `"type":"ExternalName","externalName":"example.com"`, "", ""},
	} {
		ips, ports := addressesOf(s.must(http.StatusCreated, http.MethodPost, services, service(test.name, test.spec)))
		want := strings.Fields(test.ips)
		if len(ips) != len(want) || len(ports) != len(strings.Fields(test.ports)) {
			t.Errorf("%s has %v and %v", test.name, ips, ports)
			continue
		}
		for i, ip := range ips {
			if !strings.HasPrefix(ip, want[i]) {
				t.Errorf("%s has %v, want %s", test.name, ips, test.ips)
			}
		}
		for _, port := range ports {
			if !strings.HasPrefix(strconv.FormatInt(port, 10), test.ports) {
				t.Errorf("%s has the port %d", test.name, port)
			}
		}
	}
	for spec, want := range map[string]string{
		port + `,"clusterIP":"10.96.0.7"`:                                "failed to allocate IP 10.96.0.7: provided IP is already allocated",
		port + `,"clusterIP":"10.97.0.7"`:                                "the provided network does not match the current range",
		port + `,"clusterIP":"10.96.0.0"`:                                "the provided network does not match the current range",
		port + `,"clusterIP":"10.96.0.255"`:                              "the provided network does not match the current range",
		`"type":"NodePort","ports":[{"port":80,"nodePort":30007}]`:       "provided port is already allocated",
		`"type":"NodePort","ports":[{"port":80,"nodePort":3000}]`:        "The range of valid ports is 30000-32767",
		`"type":"NodePort","clusterIP":"10.96.0.9","ports":[{"port":0}]`: "must be between 1 and 65535",
	} {
		if failed := s.must(http.StatusUnprocessableEntity, http.MethodPost, services, service("refused", spec)); !strings.Contains(fmt.Sprint(failed["message"]), want) {
			t.Errorf("%s: %v, want %s", spec, failed["message"], want)
		}
	}
	dry := s.must(http.StatusCreated, http.MethodPost, services+"?dryRun=All", service("dry", port+`,"type":"NodePort"`))
	if ips, ports := addressesOf(dry); len(ips) != 1 || len(ports) != 1 {
		t.Errorf("in a dry run: %v, %v", ips, ports)
	}
	if left := s.reservations(); len(left) > 0 {
		t.Errorf("these addresses are reserved for nothing: %v", left)
	}
}

// TestServiceAddressesFollowChanges checks that a Service keeps its addresses, gets those that its new type needs, and frees the others.
func TestServiceAddressesFollowChanges(t *testing.T) {
	s := serveAddresses(t, memory.New(), 2768, "10.96.0.0/24")
	const changed = services + "/changed"
	created, _ := addressesOf(s.must(http.StatusCreated, http.MethodPost, services, service("changed", `"ports":[{"port":80}]`)))
	replaced, ports := addressesOf(s.must(http.StatusOK, http.MethodPut, changed, service("changed", `"type":"NodePort","ports":[{"port":80}]`)))
	if len(created) != 1 || fmt.Sprint(replaced) != fmt.Sprint(created) || len(ports) != 1 {
		t.Fatalf("%v became %v with the ports %v", created, replaced, ports)
	}
	again, same := addressesOf(s.must(http.StatusOK, http.MethodPut, changed, service("changed", `"type":"NodePort","ports":[{"port":81}]`)))
	if fmt.Sprint(again) != fmt.Sprint(created) || fmt.Sprint(same) != fmt.Sprint(ports) {
		t.Errorf("%v and %v became %v and %v", created, ports, again, same)
	}
	none, noPorts := addressesOf(s.must(http.StatusOK, http.MethodPut, changed, service("changed", `"type":"ExternalName","externalName":"example.com"`)))
	if len(none)+len(noPorts) > 0 {
		t.Errorf("an ExternalName has %v and %v", none, noPorts)
	}
	taken := fmt.Sprintf(`"type":"NodePort","clusterIP":%q,"ports":[{"port":80,"nodePort":%d}]`, created[0], ports[0])
	s.must(http.StatusCreated, http.MethodPost, services, service("heir", taken))
	s.must(http.StatusOK, http.MethodDelete, services+"/heir", "")
	s.must(http.StatusCreated, http.MethodPost, services, service("next", taken))
	if left := s.reservations(); len(left) > 0 {
		t.Errorf("these addresses are reserved for nothing: %v", left)
	}
}

// TestServiceAddressesOfTwoGateways creates Services on two gateways at once, until their range is full.
func TestServiceAddressesOfTwoGateways(t *testing.T) {
	store := memory.New()
	gateways := []*testServer{serveAddresses(t, store, 60, "10.96.0.0/26"), serveAddresses(t, store, 60, "10.96.0.0/26")}
	var mu sync.Mutex
	var running sync.WaitGroup
	holders, full := map[string]string{}, 0
	for i := range 70 { // 62 have room
		running.Go(func() {
			name := fmt.Sprint("s", i)
			got := gateways[i%2].do(http.MethodPost, services, service(name, `"ports":[{"port":80}]`))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case got.code == http.StatusCreated:
			case got.code == http.StatusInternalServerError && strings.Contains(got.body, "range is full"):
				full++
			default:
				t.Errorf("%s: %d %s", name, got.code, got.body)
			}
		})
	}
	running.Wait()
	for _, item := range gateways[0].must(http.StatusOK, http.MethodGet, services, "")["items"].([]any) {
		ips, _ := addressesOf(item.(map[string]any))
		name, _, _ := unstructured.NestedString(item.(map[string]any), "metadata", "name")
		if other := holders[ips[0]]; other != "" {
			t.Errorf("%s and %s have %s", name, other, ips[0])
		}
		holders[ips[0]] = name
	}
	if len(holders) != 62 || full != 8 {
		t.Errorf("%d Services have an address, and %d found none, want 62 and 8", len(holders), full)
	}
}
