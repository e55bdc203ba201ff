package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/etcdstore/memory"
	"revtail/gateway/resource"
)

const (
	networking   = "/apis/networking.k8s.io/v1/"
	ipAddresses  = networking + "ipaddresses"
	serviceCIDRs = networking + "servicecidrs"
)

// awaitParent waits until an IPAddress names a parent, as services/default/web; empty: until there is none.
func (s *testServer) awaitParent(address, parent string) {
	s.t.Helper()
	await(s.t, "the parent "+parent+" of "+address, func() bool { return s.hasParent(address, parent) })
}

func (s *testServer) hasParent(address, parent string) bool {
	s.t.Helper()
	got := s.get(ipAddresses + "/" + address)
	if got.code != http.StatusOK {
		return parent == "" && got.code == http.StatusNotFound
	}
	ref, _, _ := unstructured.NestedStringMap(got.json(s.t), "spec", "parentRef")
	return parent == ref["resource"]+"/"+ref["namespace"]+"/"+ref["name"]
}

// awaitReady waits until the condition Ready of a ServiceCIDR has a status and reason, as False/Terminating; empty: until there is no such ServiceCIDR.
func (s *testServer) awaitReady(name, want string) {
	s.t.Helper()
	await(s.t, "the ServiceCIDR "+name+" "+want, func() bool {
		got := s.get(serviceCIDRs + "/" + name)
		if got.code != http.StatusOK {
			return want == "" && got.code == http.StatusNotFound
		}
		conditions, _, _ := unstructured.NestedSlice(got.json(s.t), "status", "conditions")
		for _, condition := range conditions {
			if c := condition.(map[string]any); c["type"] == "Ready" {
				return want == fmt.Sprintf("%v/%v", c["status"], c["reason"])
			}
		}
		return false
	})
}

// TestIPAddresses checks that there is an IPAddress for each cluster IP, and that those of clients take addresses.
func TestIPAddresses(t *testing.T) {
	s := serveAddresses(t, memory.New(), 100, "10.96.0.0/28", "fd00::/112")
	const both = `"ports":[{"port":80}],"ipFamilyPolicy":"RequireDualStack"`
	s.must(http.StatusCreated, http.MethodPost, services, service("web", both+`,"clusterIP":"10.96.0.3","clusterIPs":["10.96.0.3","fd00::3"]`))
	for address, family := range map[string]string{"10.96.0.3": "IPv4", "fd00::3": "IPv6"} {
		s.awaitParent(address, "services/default/web")
		labels, _, _ := unstructured.NestedStringMap(s.get(ipAddresses+"/"+address).json(t), "metadata", "labels")
		if labels["ipaddress.kubernetes.io/ip-family"] != family || labels["ipaddress.kubernetes.io/managed-by"] != "ipallocator.k8s.io" {
			t.Errorf("%s has the labels %v", address, labels)
		}
	}
	s.must(http.StatusOK, http.MethodDelete, ipAddresses+"/10.96.0.3", "")
	s.awaitParent("10.96.0.3", "services/default/web")
	s.must(http.StatusOK, http.MethodDelete, services+"/web", "")
	s.awaitParent("10.96.0.3", "")
	s.awaitParent("fd00::3", "")
	const ofClient = `{"metadata":{"name":"10.96.0.%d"},"spec":{"parentRef":{"group":"example.com","resource":"gateways","name":"%d"}}}`
	for n := 4; n <= 14; n++ { // 1 to 3 are left
		s.must(http.StatusCreated, http.MethodPost, ipAddresses, fmt.Sprintf(ofClient, n, n))
	}
	refused := s.must(http.StatusUnprocessableEntity, http.MethodPost, services, service("taken", `"ports":[{"port":80}],"clusterIP":"10.96.0.4"`))
	if !strings.Contains(fmt.Sprint(refused["message"]), "provided IP is already allocated") {
		t.Errorf("a Service wants the address of a client's IPAddress: %v", refused["message"])
	}
	for i := range 3 {
		name := fmt.Sprint("free", i)
		ips, _ := addressesOf(s.must(http.StatusCreated, http.MethodPost, services, service(name, `"ports":[{"port":80}]`)))
		if !s.hasParent(ips[0], "services/default/"+name) { // before the Service's create was answered
			t.Errorf("the IPAddress of %s: %s", name, s.get(ipAddresses+"/"+ips[0]).body)
		}
	}
	if full := s.do(http.MethodPost, services, service("full", `"ports":[{"port":80}]`)); full.code != http.StatusInternalServerError || !strings.Contains(full.body, "range is full") {
		t.Errorf("a Service beyond the range: %d %s", full.code, full.body)
	}
	s.awaitParent("10.96.0.4", "gateways//4")
	if left := s.reservations(); len(left) > 0 {
		t.Errorf("these addresses are reserved for nothing: %v", left)
	}
}

// TestIPAddressesOfEarlierServices checks that Services from before get IPAddresses, also if there are wrong ones, or values that are none.
func TestIPAddressesOfEarlierServices(t *testing.T) {
	store := memory.New()
	before := serveStore(t, store)
	before.must(http.StatusCreated, http.MethodPost, services, service("web", `"ports":[{"port":80}],"clusterIP":"10.96.0.3"`))
	before.must(http.StatusCreated, http.MethodPost, ipAddresses, `{"metadata":{"name":"10.96.0.3"},"spec":{"parentRef":{"resource":"services","namespace":"default","name":"old"}}}`)
	managed := `"labels":{"ipaddress.kubernetes.io/ip-family":"IPv4","ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}`
	before.must(http.StatusCreated, http.MethodPost, ipAddresses, `{"metadata":{"name":"10.96.0.4",`+managed+`},"spec":{"parentRef":{"resource":"services","namespace":"default","name":"old"}}}`)
	for path, value := range map[string]string{
		"servicecidrs/broken":   `{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"broken"},"spec":{"cidrs":"10.96.0.0/24"}}`,
		"ipaddresses/10.96.0.5": `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.96.0.5","labels":[]},"spec":"none"}`,
		"ipaddresses/10.96.0.6": `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.96.0.6",` + managed + `}}`,
		"ipaddresses/10.96.0.7": `nonsense`,
	} {
		plural, name, _ := strings.Cut(path, "/")
		res := before.server.catalog.Current().Registry.Lookup("networking.k8s.io", "v1", plural)
		if _, err := store.Create(t.Context(), res.Key("/registry", resource.Scope{Name: name}), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	s := serveAddresses(t, store, 100, "10.96.0.0/28")
	s.awaitParent("10.96.0.3", "services/default/web")
	s.awaitParent("10.96.0.4", "")
	s.awaitParent("10.96.0.6", "")
	s.must(http.StatusCreated, http.MethodPost, services, service("next", `"ports":[{"port":80}],"clusterIP":"10.96.0.8"`))
	s.awaitParent("10.96.0.8", "services/default/next")
	for n := range 3 {
		ip := fmt.Sprintf("10.96.0.%d", 5+n)
		created := s.do(http.MethodPost, services, service(fmt.Sprint("s", n), `"ports":[{"port":80}],"clusterIP":"`+ip+`"`))
		if taken := strings.Contains(created.body, "already allocated"); taken != (ip != "10.96.0.6") {
			t.Errorf("%s: %d %s", ip, created.code, created.body)
		}
	}
}

// TestServiceCIDRs checks that addresses of ServiceCIDRs are allocated, and that one stays while Services have some of them.
func TestServiceCIDRs(t *testing.T) {
	t.Parallel()
	s := serveAddresses(t, memory.New(), 100, "10.96.0.0/30")
	const port = `"ports":[{"port":80}]`
	s.awaitReady("kubernetes", "True/")
	for i := range 2 {
		s.must(http.StatusCreated, http.MethodPost, services, service(fmt.Sprint("s", i), port))
	}
	if full := s.do(http.MethodPost, services, service("more", port)); !strings.Contains(full.body, "range is full") {
		t.Fatalf("a Service beyond the range: %d %s", full.code, full.body)
	}
	s.must(http.StatusCreated, http.MethodPost, serviceCIDRs, `{"metadata":{"name":"more"},"spec":{"cidrs":["10.97.0.0/29","fd00::/112"]}}`)
	ips, _ := addressesOf(s.must(http.StatusCreated, http.MethodPost, services, service("more", port)))
	if !strings.HasPrefix(ips[0], "10.97.0.") {
		t.Errorf("a Service has %v of the new ServiceCIDR", ips)
	}
	s.awaitReady("more", "True/")
	s.must(http.StatusOK, http.MethodDelete, serviceCIDRs+"/more", "")
	s.awaitReady("more", "False/Terminating")
	refused := s.must(http.StatusUnprocessableEntity, http.MethodPost, services, service("late", port+`,"clusterIP":"10.97.0.6"`))
	if !strings.Contains(fmt.Sprint(refused["message"]), "the provided network does not match the current range") {
		t.Errorf("a Service wants an address of a ServiceCIDR that is being deleted: %v", refused["message"])
	}
	s.must(http.StatusOK, http.MethodDelete, services+"/more", "")
	s.awaitReady("more", "")
	s.must(http.StatusOK, http.MethodDelete, serviceCIDRs+"/kubernetes", "")
	s.awaitReady("kubernetes", "False/Terminating")
	if full := s.do(http.MethodPost, services, service("late", port)); !strings.Contains(full.body, "range is full") {
		t.Errorf("a Service without a range: %d %s", full.code, full.body)
	}
	s.must(http.StatusCreated, http.MethodPost, serviceCIDRs, `{"metadata":{"name":"wider"},"spec":{"cidrs":["10.96.0.0/24"]}}`)
	s.must(http.StatusCreated, http.MethodPost, services, service("late", port))
	await(t, "another ServiceCIDR kubernetes, because wider has its addresses", func() bool {
		got := s.get(serviceCIDRs + "/kubernetes")
		return got.code == http.StatusOK && !strings.Contains(got.body, "deletionTimestamp")
	})
}
