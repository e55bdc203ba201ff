package gatewaytest_test

import (
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestStop checks that SIGTERM ends every watch cleanly, with all earlier events, and etcd after them.
func TestStop(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	var watches []*gatewaytest.Watch
	for i := range 60 {
		url := configMaps + "?watch=1"
		if i%2 == 0 {
			url += "&allowWatchBookmarks=1"
		}
		watches = append(watches, gw.Watch(t, url))
	}
	revision := gw.Create(t, configMaps, gatewaytest.ConfigMap("last", "")).Revision(t)
	gw.Terminate(t)
	for i, watch := range watches {
		events := watch.Rest(t)
		var added int
		for _, event := range events {
			if event.Type == "ADDED" {
				added++
			}
		}
		var end gatewaytest.Event
		if len(events) > 0 {
			end = events[len(events)-1]
		}
		if added != 1 || end.Object.Revision(t) != revision {
			t.Errorf("watch %d: %v, want the object, and the end at its revision %d", i, events, revision)
		}
	}
	if code := gw.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	log := gw.Log(t)
	if closed, answered := strings.Index(log, `"msg":"closed etcd server"`), strings.LastIndex(log, `"msg":"request"`); closed < answered || answered < 0 {
		t.Errorf("etcd closed at byte %d of the log, the last request ended at %d", closed, answered)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the log has %s", line)
		}
	}

	gw.Restart(t)
	if list := gw.Get(t, configMaps); len(list.Items) != 1 || list.Items[0].Revision(t) != revision {
		t.Errorf("after the second start: %v, want the object at revision %d", list, revision)
	}
}
