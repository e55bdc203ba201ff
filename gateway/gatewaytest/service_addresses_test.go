package gatewaytest_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

// TestServiceAddressesAreThoseOfAKubeAPIServer checks that a gateway accepts and refuses the addresses of Services, chooses and keeps them, and frees them, as
// a kube-apiserver does.
func TestServiceAddressesAreThoseOfAKubeAPIServer(t *testing.T) {
	t.Parallel()
	c := startComparison(t, "--create-namespaces")
	o := &objectComparison{comparison: c, t: t}
	const services = "/api/v1/namespaces/default/services"
	service := func(name string, spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name}, "spec": spec}
	}
	create := func(name string, spec map[string]any) {
		o.t.Helper()
		o.try("create "+name, write(http.MethodPost, services+asTest, service(name, spec)))
	}
	ports := []any{map[string]any{"name": "a", "port": 80}, map[string]any{"name": "b", "port": 443}}
	for i, spec := range []map[string]any{
		{"ports": ports},
		{"ports": ports, "type": "NodePort"},
		{"ports": ports, "type": "LoadBalancer", "externalTrafficPolicy": "Local"},
		{"ports": ports, "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false},
		{"ports": ports, "clusterIP": "None"},
		{"ports": ports, "clusterIP": "None", "selector": map[string]any{"a": "b"}},
		{"ports": ports, "clusterIP": "10.0.0.7"},
		{"ports": ports, "clusterIP": "10.0.0.7"},
		{"ports": ports, "clusterIP": "10.0.0.0"},
		{"ports": ports, "clusterIP": "10.0.0.255"},
		{"ports": ports, "clusterIP": "10.3.0.1"},
		{"ports": ports, "clusterIP": "fd00::1"},
		{"ports": ports, "clusterIP": "nonsense"},
		{"ports": ports, "clusterIP": "10.0.0.8", "clusterIPs": []any{"10.0.0.9"}},
		{"ports": ports, "clusterIPs": []any{"10.0.0.9"}},
		{"ports": ports, "ipFamilies": []any{"IPv6"}},
		{"ports": ports, "ipFamilies": []any{"IPv4", "IPv6"}},
		{"ports": ports, "ipFamilyPolicy": "PreferDualStack"},
		{"ports": ports, "ipFamilyPolicy": "RequireDualStack"},
		{"type": "ExternalName", "externalName": "example.com"},
		{"type": "ExternalName", "externalName": "example.com", "clusterIP": "10.0.0.9"},
		{"type": "NodePort", "ports": []any{map[string]any{"port": 80, "nodePort": 30007}}},
		{"type": "NodePort", "ports": []any{map[string]any{"port": 80, "nodePort": 30007}}},
		{"type": "NodePort", "ports": []any{map[string]any{"port": 80, "nodePort": 3000}}},
		{"type": "NodePort", "ports": []any{map[string]any{"name": "t", "port": 53, "nodePort": 30053}, map[string]any{"name": "u", "port": 53, "protocol": "UDP", "nodePort": 30053}}},
		{"type": "NodePort", "ports": []any{map[string]any{"name": "t", "port": 54, "nodePort": 30054}, map[string]any{"name": "u", "port": 55, "nodePort": 30054}}},
		{"type": "NodePort", "ports": []any{map[string]any{"port": 0}}},
		{"type": "ClusterIP", "ports": []any{map[string]any{"port": 80, "nodePort": 30008}}},
	} {
		create(fmt.Sprint("s", i), spec)
	}
	for _, change := range []struct {
		name, becomes string
		spec          map[string]any
	}{
		{"s0", "a NodePort", map[string]any{"type": "NodePort"}},
		{"s0", "another IP", map[string]any{"clusterIP": "10.0.0.9"}},
		{"s0", "no IP", map[string]any{"clusterIP": ""}},
		{"s0", "an ExternalName", map[string]any{"type": "ExternalName", "externalName": "example.com"}},
		{"s0", "a ClusterIP", map[string]any{"type": "ClusterIP", "externalName": nil}},
		{"s1", "a ClusterIP", map[string]any{"type": "ClusterIP"}},
		{"s6", "an ExternalName", map[string]any{"type": "ExternalName", "externalName": "example.com", "clusterIP": nil, "clusterIPs": nil}},
		{"s19", "a NodePort", map[string]any{"type": "NodePort", "ports": []any{map[string]any{"port": 80, "nodePort": 30009}}}},
		{"s21", "another port", map[string]any{"ports": []any{map[string]any{"port": 80, "nodePort": 30010}}}},
		{"s21", "a taken port", map[string]any{"ports": []any{map[string]any{"port": 80, "nodePort": 30053}}}},
	} {
		o.try(change.name+" becomes "+change.becomes, mergePatch(services+"/"+change.name+asTest, map[string]any{"spec": change.spec}))
	}
	create("heir-of-s6", map[string]any{"ports": ports, "clusterIP": "10.0.0.7"})
	create("heir-of-s21", map[string]any{"type": "NodePort", "ports": []any{map[string]any{"port": 80, "nodePort": 30007}}})
	o.try("delete", apiRequest{method: http.MethodDelete, path: services + "/heir-of-s6"})
	create("next", map[string]any{"ports": ports, "clusterIP": "10.0.0.7"})
	o.try("dry run", write(http.MethodPost, services+asTest+"&dryRun=All", service("dry", map[string]any{"ports": ports, "clusterIP": "10.0.0.10"})))
	create("after-dry", map[string]any{"ports": ports, "clusterIP": "10.0.0.10"})
	ipAddress := map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": map[string]any{"name": "10.0.0.11"},
		"spec": map[string]any{"parentRef": map[string]any{"group": "example.com", "resource": "gateways", "name": "a"}}}
	o.try("create an IPAddress", write(http.MethodPost, networking+"ipaddresses"+asTest, ipAddress))
	create("wants-it", map[string]any{"ports": ports, "clusterIP": "10.0.0.11"})
	serviceCIDR := map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": map[string]any{"name": "more"},
		"spec": map[string]any{"cidrs": []any{"10.0.1.0/28"}}}
	o.try("create a ServiceCIDR", write(http.MethodPost, networking+"servicecidrs"+asTest, serviceCIDR))
	for _, server := range []apiServer{c.kube, c.revtail} {
		gatewaytest.Until(t, "a Service with an address of the ServiceCIDR", func() bool { // a kube-apiserver knows of it later
			return server.do(t, write(http.MethodPost, services, service("in-more", map[string]any{"ports": ports, "clusterIP": "10.0.1.5"}))).Code == http.StatusCreated
		})
	}
	create("first-of-more", map[string]any{"ports": ports, "clusterIP": "10.0.1.0"})
	create("last-of-more", map[string]any{"ports": ports, "clusterIP": "10.0.1.15"})
	create("same-of-more", map[string]any{"ports": ports, "clusterIP": "10.0.1.5"})
	for _, address := range []string{"10.0.0.7", "10.0.0.11", "10.0.1.5"} {
		of := func(server apiServer) string {
			answer := server.do(t, apiRequest{method: http.MethodGet, path: networking + "ipaddresses/" + address})
			body, _ := answer.Body.(map[string]any)
			labels, _, _ := unstructured.NestedStringMap(body, "metadata", "labels")
			return fmt.Sprint(answer.Code, labels, body["spec"])
		}
		want := of(c.kube)
		gatewaytest.Until(t, "the IPAddress "+address+" as in a kube-apiserver: "+want, func() bool { return of(c.revtail) == want }) // a gateway writes it later
	}
	t.Logf("%d answers are compared", o.answers)
}

const networking = "/apis/networking.k8s.io/v1/"
