package gatewaytest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestSlowReader: clients that read nothing for a while get everything later, in order and once: what the system holds for
// them, what the gateway's log has, and what has left the log and is in etcd's history alone. A client that reads meanwhile
// waits for none of them.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const changes, size = 250, 300 << 10 // more than the log keeps in memory
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("large", ""))
	var slow []*gatewaytest.Watch
	for i := range 4 {
		url := configMaps + "?watch=1"
		if i%2 == 1 {
			url += "&labelSelector=!absent" // each of these gets chunks of its own
		}
		slow = append(slow, gw.Watch(t, url))
	}
	quick := gw.Watch(t, configMaps+"?watch=1")
	quick.Next(t)
	filler := strings.Repeat("x", size)
	for i := range changes {
		gw.Patch(t, configMaps+"/large", fmt.Sprintf(`{"data":{"value":"%d","filler":%q}}`, i, filler))
		if got := quick.Next(t).Object.Data["value"]; got != strconv.Itoa(i) {
			t.Fatalf("change %d reaches the client that reads as %s", i, got)
		}
	}
	for n, watch := range slow {
		if event := watch.Next(t); event.Type != "ADDED" {
			t.Fatalf("client %d begins with %s", n, event.Type)
		}
		for i := range changes {
			if event := watch.Next(t); event.Type != "MODIFIED" || event.Object.Data["value"] != strconv.Itoa(i) {
				t.Fatalf("client %d: %s %s, want change %d", n, event.Type, event.Object.Data["value"], i)
			}
		}
	}
	gw.Patch(t, configMaps+"/large", `{"data":{"value":"last","filler":null}}`)
	for n, watch := range slow {
		if event := watch.Next(t); event.Object.Data["value"] != "last" {
			t.Errorf("client %d: %.100s, want the last change", n, event.Line)
		}
	}
}
