package gatewaytest_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestBehindForwardsResources checks that a gateway with --forward-resources answers about events as a kube-apiserver that keeps them in
// another etcd: in both groups, by lists, pages, tables, gets and watches, and for users without the right.
func TestBehindForwardsResources(t *testing.T) {
	t.Parallel()
	needCluster(t)
	elsewhere := gatewaytest.StartEtcd(t, 1)
	b := startBehindWith(t, []string{"--etcd-servers-overrides", "/events#" + elsewhere.Endpoints()}, "--forward-resources", "events")
	bob := b.gateway.As("bob-token")
	for i := range 5 {
		bob.Create(t, "/api/v1/namespaces/a/events", fmt.Sprintf(`{"metadata":{"name":"core-%d"},"involvedObject":{"kind":"Pod","name":"web","namespace":"a"},"reason":"R%d","type":"Normal"}`, i, i%2))
	}
	bob.Create(t, "/apis/events.k8s.io/v1/namespaces/a/events", `{"metadata":{"name":"new"},"regarding":{"kind":"Pod","name":"web","namespace":"a"},"reason":"R","type":"Warning",`+
		`"eventTime":"2026-01-02T03:04:05.000006Z","reportingController":"c","reportingInstance":"i","action":"a"}`)
	if keys := etcdctl(t, b.etcd.Endpoints(), "get", "--prefix", "--keys-only", "/registry/events/"); keys != "" {
		t.Fatalf("events are in the etcd of the gateway: %s", keys)
	}
	if keys := etcdctl(t, elsewhere.Endpoints(), "get", "--prefix", "--keys-only", "/registry/events/"); strings.Count(keys, "/registry/") < 6 {
		t.Fatalf("the other etcd has %s", keys)
	}
	for _, collection := range []string{"/api/v1/namespaces/a/events", "/apis/events.k8s.io/v1/namespaces/a/events"} {
		for _, path := range []string{
			collection, collection + "?limit=2", collection + "?fieldSelector=reason%3DR1", collection + "?fieldSelector=metadata.name%3Dnone",
			collection + "?resourceVersion=0", collection + "/core-1", collection + "/new", collection + "/none", strings.Replace(collection, "/namespaces/a", "", 1),
		} {
			for _, token := range []string{"bob-token", "alice-token", "administrator", "invalid", ""} {
				for _, accept := range []string{"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
					b.compareExactly(t, path, token, accept)
				}
			}
		}
		b.compareEvents(t, collection)
	}
}

// compareExactly compares the answers of both servers, with all resourceVersions and continue tokens.
func (b *behind) compareExactly(t *testing.T, path, token, accept string) {
	t.Helper()
	code, body := askAs(t, b.direct(token), http.MethodGet, path, "", "Accept", accept)
	got, gotBody := askAs(t, b.gateway.As(token), http.MethodGet, path, "", "Accept", accept)
	for _, of := range []any{body, gotBody} {
		if table, ok := of.(map[string]any); ok {
			rows, _ := table["rows"].([]any)
			for _, row := range rows {
				equalAges(row.(map[string]any)["cells"].([]any))
			}
		}
	}
	if got != code || !reflect.DeepEqual(gotBody, body) {
		t.Errorf("%q %s %s: %d %v\nwant %d %v", token, path, accept, got, gotBody, code, body)
	}
}

// compareEvents compares the watches of both servers from the same list on, while events come and go.
func (b *behind) compareEvents(t *testing.T, collection string) {
	t.Helper()
	version := b.direct("bob-token").Get(t, collection).Metadata.ResourceVersion
	path := collection + "?watch=1&resourceVersion=" + version
	kube, revtail := b.direct("bob-token").Watch(t, path), b.gateway.As("bob-token").Watch(t, path)
	events := "/api/v1/namespaces/a/events"
	bob := b.gateway.As("bob-token")
	bob.Create(t, events, `{"metadata":{"name":"watched"},"involvedObject":{"namespace":"a"},"reason":"One"}`)
	bob.Patch(t, events+"/watched", `{"reason":"Two"}`)
	bob.Delete(t, events+"/watched")
	for _, want := range []string{"ADDED", "MODIFIED", "DELETED"} {
		a, b := kube.Next(t), revtail.Next(t)
		if a.Type != want || a.Line != b.Line {
			t.Errorf("%s: %s\nwant %s, as %s", collection, b.Line, want, a.Line)
		}
	}
}
