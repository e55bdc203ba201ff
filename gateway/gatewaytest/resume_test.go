package gatewaytest_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

const secrets = "/api/v1/namespaces/default/secrets"

// TestResume checks that a disconnected client gets exactly the events that it has missed, however the gateway ended.
func TestResume(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*testing.T, *gatewaytest.Gateway){
		"SIGTERM": func(t *testing.T, gw *gatewaytest.Gateway) {
			if code := gw.Stop(t); code != 0 {
				t.Errorf("exit code %d after SIGTERM", code)
			}
		},
		"kill -9": func(t *testing.T, gw *gatewaytest.Gateway) { gw.Kill(t) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gw := gatewaytest.Start(t)
			gw.Create(t, configMaps, gatewaytest.ConfigMap("a", "1"))
			seen := gw.Get(t, configMaps).Metadata.ResourceVersion
			url := "/api/v1/configmaps?watch=1&resourceVersion=" + seen
			witness := gw.Watch(t, url) // stays connected until the end
			want := change(t, gw, witness)
			end(t, gw)
			gw.Restart(t)

			watch := gw.Watch(t, url)
			gw.Create(t, configMaps, gatewaytest.ConfigMap("live", "")) // the transition from history to the log
			got := linesOf(t, watch, len(want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after the restart (-the witness +got):\n%s", diff)
			}
			if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "live" {
				t.Errorf("after the missed events: %s, want live ADDED", event.Line)
			}
		})
	}
}

// change makes some events, and returns their frames.
func change(t *testing.T, gw *gatewaytest.Gateway, witness *gatewaytest.Watch) []string {
	t.Helper()
	gw.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"not-watched"}}`)
	gw.Patch(t, configMaps+"/a", `{"data":{"value":"2"}}`)
	for i := range 30 {
		gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("b", i), ""))
	}
	gw.Delete(t, configMaps+"/a")
	gw.Create(t, configMaps, gatewaytest.ConfigMap("a", "3"))
	gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Put(t,
		"/registry/configmaps/default/c0", gatewaytest.ConfigMap("c0", ""), "/registry/configmaps/default/c1", gatewaytest.ConfigMap("c1", ""))
	gw.Delete(t, configMaps+"/c0")
	return linesOf(t, witness, 36)
}

// TestResumingClientsDoNotLoadEtcd checks that any number of clients that resume after a restart make no more requests to etcd than none.
func TestResumingClientsDoNotLoadEtcd(t *testing.T) {
	t.Parallel()
	const clients, few = 300, 15 // few: regular requests without clients
	etcd := gatewaytest.StartEtcd(t, 1).Members[0]
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoint)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("before", ""))
	gw.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"before"}}`)
	seen := gw.Get(t, configMaps).Metadata.ResourceVersion
	gw.Create(t, configMaps, gatewaytest.ConfigMap("missed", ""))
	gw.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"missed"}}`)

	// restart returns the number of requests and watches of etcd when the gateway restarts, and then the clients resume.
	restart := func(clients int) (ranges, watches int) {
		gw.Kill(t)
		rangesBefore, watchesBefore := started(t, etcd, "Range"), started(t, etcd, "Watch")
		gw.Restart(t)
		for i := range clients {
			watch := gw.Watch(t, []string{"/api/v1/configmaps", "/api/v1/secrets"}[i%2]+"?watch=1&resourceVersion="+seen)
			if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "missed" {
				t.Fatalf("client %d gets %s, want the missed events", i, event.Line)
			}
		}
		return started(t, etcd, "Range") - rangesBefore, started(t, etcd, "Watch") - watchesBefore
	}
	idleRanges, idleWatches := restart(0)
	ranges, watches := restart(clients)
	t.Logf("without clients %d ranges and %d watches, with %d of them %d and %d", idleRanges, idleWatches, clients, ranges, watches)
	if ranges > idleRanges+few || watches > idleWatches+2 {
		t.Errorf("%d clients cost etcd %d ranges and %d watches; without them it is %d and %d", clients, ranges, watches, idleRanges, idleWatches)
	}
}

// started returns the number of requests of a kind since etcd's start.
func started(t *testing.T, etcd *gatewaytest.Member, method string) int {
	t.Helper()
	name := `grpc_server_started_total{grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"}`
	if method == "Watch" {
		name = `grpc_server_started_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"}`
	}
	n, err := strconv.Atoi(gatewaytest.Metric(t, etcd.Endpoint+"/metrics", name))
	if err != nil {
		t.Fatalf("etcd's count of %s: %v", method, err)
	}
	return n
}

func linesOf(t *testing.T, watch *gatewaytest.Watch, n int) []string {
	t.Helper()
	var lines []string
	for range n {
		lines = append(lines, watch.Next(t).Line)
	}
	return lines
}

// TestExpired checks that a compacted revision is one ERROR, unless the gateway still has its events.
func TestExpired(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	old := gw.Create(t, configMaps, gatewaytest.ConfigMap("a", "1")).Metadata.ResourceVersion
	gw.Patch(t, configMaps+"/a", `{"data":{"value":"2"}}`)
	gw.Patch(t, configMaps+"/a", `{"data":{"value":"3"}}`)
	compacted := etcd.Revision(t)
	etcd.Compact(t, compacted)

	url := configMaps + "?watch=1&resourceVersion="
	if event := gw.Watch(t, url+old).Next(t); event.Type != "MODIFIED" || event.Object.Data["value"] != "2" {
		t.Errorf("from the gateway's memory: %s", event.Line)
	}
	gw.Kill(t)
	gw.Restart(t)
	for _, revision := range []string{old, "1"} {
		events := gw.Watch(t, url+revision).Rest(t)
		if len(events) != 1 || events[0].Type != "ERROR" || events[0].Object.Kind != "Status" || events[0].Object.Code != 410 || events[0].Object.Reason != "Expired" {
			t.Errorf("watch from the compacted revision %s: %v, want one ERROR 410 Expired", revision, events)
		}
	}
	exact := gw.Do(t, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+old, "")
	if exact.Code != 410 || exact.Object.Reason != "Expired" {
		t.Errorf("list at the compacted revision: %d %s", exact.Code, exact.Body)
	}

	watch := gw.Watch(t, url+fmt.Sprint(compacted))
	gw.Patch(t, configMaps+"/a", `{"data":{"value":"4"}}`)
	if event := watch.Next(t); event.Type != "MODIFIED" || event.Object.Data["value"] != "4" {
		t.Errorf("from the compacted revision itself: %s", event.Line)
	}
}

// TestBookmarks checks that a client without events can resume from a bookmark after writes elsewhere and their compaction.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	gw.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"quiet"}}`)
	watch := gw.Watch(t, secrets+"?watch=1&allowWatchBookmarks=true&timeoutSeconds=10")
	if event := watch.Next(t); event.Type != "ADDED" {
		t.Errorf("first: %s, want the state", event.Line)
	}
	synced := watch.Next(t)
	if synced.Type != "BOOKMARK" || synced.Object.Metadata.Annotations["k8s.io/initial-events-end"] != "true" {
		t.Errorf("second: %s, want the end of the state", synced.Line)
	}
	var elsewhere int64
	for i := range 20 {
		elsewhere = gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("loud", i), "")).Revision(t)
	}

	marked := synced.Object
	for _, event := range watch.Rest(t) {
		if event.Type != "BOOKMARK" || event.Object.Kind != "Secret" || event.Object.APIVersion != "v1" {
			t.Errorf("then: %s, want bookmarks of the kind", event.Line)
		}
		if event.Object.Revision(t) < marked.Revision(t) {
			t.Errorf("bookmarks go back from %s to %s", marked.Metadata.ResourceVersion, event.Object.Metadata.ResourceVersion)
		}
		marked = event.Object
	}
	if marked.Revision(t) < elsewhere {
		t.Fatalf("the last bookmark is at %d, the writes elsewhere went to %d", marked.Revision(t), elsewhere)
	}
	gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Compact(t, marked.Revision(t))
	gw.Kill(t)
	gw.Restart(t)
	watch = gw.Watch(t, secrets+"?watch=1&resourceVersion="+marked.Metadata.ResourceVersion)
	gw.Delete(t, secrets+"/quiet")
	if event := watch.Next(t); event.Type != "DELETED" || event.Object.Metadata.Name != "quiet" {
		t.Errorf("resumed at the last bookmark: %s", event.Line)
	}
	for _, event := range gw.Watch(t, secrets+"?watch=1&timeoutSeconds=1").Rest(t) {
		if event.Type == "BOOKMARK" {
			t.Errorf("a bookmark without a request: %s", event.Line)
		}
	}
}
