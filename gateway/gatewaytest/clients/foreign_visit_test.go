package clients

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// stay is how long gateways stay beside the data of others.
var stay = flag.Duration("stay", 20*time.Second, "how long gateways stay beside data of others, which must not change meanwhile")

// request is a request of a client.
type request struct{ method, path, body string }

const (
	maps    = "/api/v1/namespaces/default/configmaps"
	widgets = "/apis/proof.example.com/v1/namespaces/default/widgets"
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// reads are the requests of a client that reads a cluster.
var reads = []string{
	maps, "/api/v1/configmaps?limit=3", "/api/v1/namespaces", "/api/v1/pods?resourceVersion=0", "/apis/apps/v1/deployments", "/apis/coordination.k8s.io/v1/leases",
	crds, "/openapi/v2", "/readyz?verbose", "/metrics", "/v1/keys/registry/configmaps/?limit=2", "/v1/keys/?count", "/v1/keys/?limit=5&keysOnly",
}

// writes are the attempted writes of a client, customWrites those with the custom resources of testdata/kubernetes, and keyWrites those of
// writable keys without a resource.
var (
	writes = []request{
		{"POST", maps, gatewaytest.ConfigMap("new", "1")},
		{"PUT", maps + "/owner", gatewaytest.ConfigMap("owner", "1")},
		{"PATCH", maps + "/owner", `{"data":{"value":"1"}}`},
		{"DELETE", maps + "/owner", ""},
		{"DELETE", maps, ""},
		{"POST", "/api/v1/namespaces", `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"new"}}`},
		{"DELETE", "/api/v1/namespaces/ending", ""},
		{"POST", "/api/v1/namespaces/default/pods/owner/eviction", `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"owner"}}`},
		{"POST", "/api/v1/namespaces/default/pods/owner/binding", `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"owner"},"target":{"name":"owner"}}`},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/owner/scale", `{"spec":{"replicas":3}}`},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/owner/status", `{"status":{"replicas":3}}`},
		{"PATCH", "/apis/coordination.k8s.io/v1/namespaces/default/leases/owner", `{"spec":{"holderIdentity":"other"}}`},
		{"POST", crds, `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"news.example.com"}}`},
		{"DELETE", crds + "/widgets.proof.example.com", ""},
	}
	keyWrites = []request{
		{"PUT", "/v1/keys/elsewhere", `1`},
		{"PUT", "/v1/keys/elsewhere?ttl=1h", `1`},
		{"DELETE", "/v1/keys/elsewhere/?prefix=true", ""},
		{"POST", "/v1/txn", `{"then":[{"put":{"key":"/elsewhere","value":1}}]}`},
	}
	customWrites = []request{
		{"POST", widgets, `{"kind":"Widget","apiVersion":"proof.example.com/v1","metadata":{"name":"new"}}`},
		{"PUT", widgets + "/owner", `{"kind":"Widget","apiVersion":"proof.example.com/v1","metadata":{"name":"owner"}}`},
		{"PATCH", widgets + "/owner", `{"spec":{"size":2}}`},
		{"PATCH", widgets + "/owner/status", `{"status":{"size":2}}`},
		{"PATCH", widgets + "/held", `{"metadata":{"finalizers":null}}`},
		{"DELETE", widgets + "/owner", `{"propagationPolicy":"Foreground"}`},
		{"DELETE", widgets, ""},
	}
)

// place is the prefix of a gateway in an etcd of others.
type place struct {
	args   string // of `revtail serve`
	data   string // its owner in the ready line; empty: none
	writes [][]request
}

// visitor is a client of a gateway over data of others.
type visitor struct {
	gw     *gatewaytest.Gateway
	writes []request // that are refused
}

// arrive starts a gateway at each place, whose ready line names the owner of the data.
func arrive(t *testing.T, endpoints string, places []place) []visitor {
	t.Helper()
	var visitors []visitor
	for _, at := range places {
		v := visitor{gatewaytest.Start(t, append([]string{"--etcd-endpoints", endpoints}, strings.Fields(at.args)...)...), slices.Concat(at.writes...)}
		checkOwner(t, v.gw, at.data)
		visitors = append(visitors, v)
	}
	return visitors
}

// checkOwner checks that a gateway names the owner of the data, and that it can only be read.
func checkOwner(t *testing.T, gw *gatewaytest.Gateway, owner string) {
	t.Helper()
	ends, says := "", "[+]claim ok"
	if owner != "" {
		ends, says = " data="+owner+" mode=read-only", "[!]claim the data is not revtail's own"
	}
	if _, end, _ := strings.Cut(gw.ReadyLine, " data="); end != strings.TrimPrefix(ends, " data=") {
		t.Errorf("the ready line is %q, want one that ends in %q", gw.ReadyLine, ends)
	}
	if ready := gw.Do(t, http.MethodGet, "/readyz?verbose", ""); ready.Code != http.StatusOK || !strings.Contains(ready.Body, says) {
		t.Errorf("/readyz?verbose: %d %s, want %q", ready.Code, ready.Body, says)
	}
	if logged := strings.Contains(gw.Log(t), "the data is not revtail's own"); logged != (owner != "") {
		t.Errorf("the log says that the data is not revtail's own: %v", logged)
	}
}

// visit lets clients read, watch and try to write for the duration of stay. meanwhile is called repeatedly, unless it is nil.
func visit(t *testing.T, meanwhile func(), visitors ...visitor) {
	t.Helper()
	for _, v := range visitors {
		for _, path := range []string{maps + "?watch=1", crds + "?watch=1", "/v1/keys/?watch"} {
			defer v.gw.Watch(t, path).Close()
		}
	}
	end, pause := time.After(*stay), time.NewTicker(500*time.Millisecond)
	defer pause.Stop()
	for round := 0; ; round++ {
		if meanwhile != nil {
			meanwhile()
		}
		for _, v := range visitors {
			path := reads[round%len(reads)]
			if answer := v.gw.Do(t, http.MethodGet, path, ""); answer.Code != http.StatusOK {
				t.Errorf("%s%s: %d %.300s", v.gw.URL, path, answer.Code, answer.Body)
			}
			if len(v.writes) > 0 {
				v.try(t, v.writes[round%len(v.writes)])
			}
		}
		select {
		case <-end:
			return
		case <-pause.C:
		}
	}
}

// try sends a request that must be refused, because the data is read-only.
func (v visitor) try(t *testing.T, r request) {
	t.Helper()
	answer := v.gw.Do(t, r.method, r.path, r.body)
	name := fmt.Sprintf("%s %s", r.method, r.path)
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("%s: %d, want 405\n%.300s", name, answer.Code, answer.Body)
		return
	}
	for _, flag := range []string{"--writable", "--adopt"} {
		if !strings.Contains(answer.Body, flag) {
			t.Errorf("%s: the answer does not name %s: %.300s", name, flag, answer.Body)
		}
	}
	if status := answer.Object; !strings.HasPrefix(r.path, "/v1/") && (status.Kind != "Status" || status.Reason != "MethodNotAllowed" || status.Code != answer.Code) {
		t.Errorf("%s: %.300s, want a Status with the reason MethodNotAllowed", name, answer.Body)
	}
}

// tryAll sends every request that must be refused.
func (v visitor) tryAll(t *testing.T) {
	t.Helper()
	for _, r := range v.writes {
		v.try(t, r)
	}
}
