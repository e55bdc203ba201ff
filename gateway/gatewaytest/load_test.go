package gatewaytest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestManyWatches checks that one etcd watch serves all clients, and that clients that disconnect leave nothing behind.
func TestManyWatches(t *testing.T) {
	t.Parallel()
	const clients = 200
	gw := gatewaytest.Start(t)
	etcdWatchers := func() string {
		return gatewaytest.Metric(t, gw.EtcdEndpoint+"/metrics", "etcd_debugging_mvcc_watcher_total")
	}
	watchers := func() string {
		return gatewaytest.Metric(t, gw.URL+"/metrics", `revtail_watchers{resource="configmaps"}`)
	}
	goroutines := func() int {
		n, err := strconv.Atoi(gatewaytest.Metric(t, gw.URL+"/metrics", "go_goroutines"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := gw.Create(t, configMaps, gatewaytest.ConfigMap("first", ""))
	const more = 1 // HorizontalPodAutoscalers have two versions, which share their metrics
	idle := fmt.Sprint(strings.Count(gw.Do(t, "GET", "/metrics", "").Body, "\nrevtail_cache_ready{") + more)
	gatewaytest.Until(t, "one etcd watch a resource", func() bool { return etcdWatchers() == idle })
	before := goroutines()

	urls := []string{
		configMaps + "?watch=1", configMaps + "?watch=1&resourceVersion=" + first.Metadata.ResourceVersion,
		"/api/v1/watch/namespaces/default/configmaps/first", "/api/v1/configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=1",
	}
	for round := range 2 {
		var open []*gatewaytest.Watch
		for i := range clients {
			open = append(open, gw.Watch(t, urls[i%len(urls)]))
		}
		gw.Patch(t, configMaps+"/first", fmt.Sprintf(`{"data":{"value":"%d"}}`, round))
		for i, watch := range open {
			for event := watch.Next(t); event.Object.Data["value"] != fmt.Sprint(round); event = watch.Next(t) {
				if event.Type != "ADDED" && event.Type != "BOOKMARK" && round == 0 {
					t.Fatalf("watch %d: %s", i, event.Line)
				}
			}
		}
		if got := watchers(); got != fmt.Sprint(clients) {
			t.Errorf("the gateway counts %s watches, want %d", got, clients)
		}
		if got := etcdWatchers(); got != idle {
			t.Errorf("with %d clients etcd has %s watches, with none %s", clients, got, idle)
		}
		for _, watch := range open {
			watch.Close()
		}
		gatewaytest.Until(t, "no watches", func() bool { return watchers() == "0" })
	}
	if got := etcdWatchers(); got != idle {
		t.Errorf("after the clients have gone etcd has %s watches, before them %s", got, idle)
	}
	const slack = 5 // connections of this test, and timers of the runtime
	gatewaytest.Until(t, "goroutines as before", func() bool { return goroutines() <= before+slack })
}
