package gatewaytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestStorageFull checks that writes to an etcd without free quota are refused with 507, that everything else works, and that a metric and
// a line of /readyz report it while the gateway stays ready.
func TestStorageFull(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "etcd.yaml")
	text := fmt.Sprintf("data-dir: %s\nlisten-client-urls: http://127.0.0.1:0\nadvertise-client-urls: http://127.0.0.1:0\nlisten-peer-urls: http://127.0.0.1:0\n"+
		"quota-backend-bytes: 3000000\n", t.TempDir())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--embedded-config", file)
	const alarm = `revtail_etcd_alarms{type="NOSPACE"}`
	gatewaytest.Until(t, "a figure of alarms", func() bool { return gatewaytest.Metric(t, gw.URL+"/metrics", alarm) == "0" })
	gw.Create(t, configMaps, gatewaytest.ConfigMap("small", "1"))
	watch := gw.Watch(t, configMaps+"?watch=1")
	watch.Next(t)

	full := gatewaytest.Answer{Code: 201}
	for n := 0; full.Code == 201 && n < 20; n++ {
		full = gw.Do(t, "POST", configMaps, gatewaytest.ConfigMap(fmt.Sprint("large-", n), strings.Repeat("x", 512<<10)))
	}
	if full.Code != 507 || !strings.Contains(full.Body, "StorageFull") {
		t.Fatalf("writes into a full etcd: %d %.300s", full.Code, full.Body)
	}
	gatewaytest.Until(t, "the alarm as a metric", func() bool { return gatewaytest.Metric(t, gw.URL+"/metrics", alarm) == "1" })
	if ready := gw.Do(t, "GET", "/readyz?verbose", ""); ready.Code != 200 || !strings.Contains(ready.Body, "[!]etcd-health") || !strings.Contains(ready.Body, "NOSPACE") {
		t.Errorf("/readyz?verbose: %d %s", ready.Code, ready.Body)
	}
	if list := gw.Do(t, "GET", configMaps+"?limit=1", ""); list.Code != 200 {
		t.Errorf("a list: %d %s", list.Code, list.Body)
	}
	if deleted := gw.Do(t, "DELETE", configMaps+"/small", ""); deleted.Code != 200 {
		t.Errorf("a deletion: %d %s", deleted.Code, deleted.Body)
	}
	for event := watch.Next(t); event.Type != "DELETED"; event = watch.Next(t) {
		if event.Type != "ADDED" {
			t.Fatalf("the next event of the watch is %s", event.Line)
		}
	}
}
