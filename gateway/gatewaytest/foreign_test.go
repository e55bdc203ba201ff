package gatewaytest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

const keyPrefix = "/registry/configmaps/default/"

// TestForeignWrites checks that a write of another program to etcd looks like one of a client of the gateway.
func TestForeignWrites(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	watch := gw.Watch(t, configMaps+"?watch=1&resourceVersion=1")
	steps := []struct {
		event string
		value string
		do    func() int64
	}{
		{"ADDED", "1", func() int64 { return etcd.Put(t, keyPrefix+"a", gatewaytest.ConfigMap("a", "1")) }},
		{"MODIFIED", "2", func() int64 { return etcd.Put(t, keyPrefix+"a", gatewaytest.ConfigMap("a", "2")) }},
		{"DELETED", "2", func() int64 { return etcd.Delete(t, keyPrefix+"a") }},
		// A minimal value, one with wrong metadata, and one that an older program wrote with a stale resourceVersion.
		{"ADDED", "", func() int64 { return etcd.Put(t, keyPrefix+"bare", "{}") }},
		{"ADDED", "5", func() int64 { return etcd.Put(t, keyPrefix+"b", gatewaytest.ConfigMap("liar", "5")) }},
		{"MODIFIED", "6", func() int64 {
			return etcd.Put(t, keyPrefix+"b", ` { "metadata" : {"resourceVersion":"999999","name":"b"}, "data":{"value":"6"} } `)
		}},
	}
	for _, step := range steps {
		revision := step.do()
		event := watch.Next(t)
		if event.Type != step.event || event.Object.Data["value"] != step.value || event.Object.Revision(t) != revision {
			t.Errorf("%s, want %s with value %q at %d", event.Line, step.event, step.value, revision)
		}
		if o := event.Object; o.Kind != "ConfigMap" || o.APIVersion != "v1" || o.Metadata.Namespace != "default" || o.Metadata.Name == "liar" {
			t.Errorf("%s: want a ConfigMap with the name of its key", event.Line)
		}
	}
	var names []string
	for _, item := range gw.Get(t, configMaps).Items {
		names = append(names, item.Metadata.Name)
	}
	if diff := cmp.Diff([]string{"b", "bare"}, names); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	gw.Patch(t, configMaps+"/bare", `{"data":{"value":"7"}}`)
	if event := watch.Next(t); event.Type != "MODIFIED" || event.Object.Data["value"] != "7" {
		t.Errorf("a foreign object, patched: %s", event.Line)
	}
}

// TestGarbage checks that a malformed value is named and counted, and that everything else is served.
func TestGarbage(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	undecodable := func() string {
		return gatewaytest.Metric(t, gw.URL+"/metrics", `revtail_undecodable_values{resource="configmaps"}`)
	}
	gw.Create(t, configMaps, gatewaytest.ConfigMap("good", ""))
	gw.Create(t, configMaps, gatewaytest.ConfigMap("turns", "1"))
	watch := gw.Watch(t, configMaps+"?watch=1&resourceVersion="+gw.Get(t, configMaps).Metadata.ResourceVersion)
	if got := undecodable(); got != "0" {
		t.Errorf("%s undecodable values, want 0", got)
	}

	etcd.Put(t, keyPrefix+"garbage", "\x00\xffnot json\n", keyPrefix+"list", "[1]", keyPrefix+"open", `{"metadata":{`, "/registry/configmaps/no-namespace", "{}")
	revision := etcd.Put(t, keyPrefix+"turns", "garbage now")
	if event := watch.Next(t); event.Type != "DELETED" || event.Object.Metadata.Name != "turns" || event.Object.Data["value"] != "1" || event.Object.Revision(t) != revision {
		t.Errorf("an object that became garbage: %s, want DELETED at %d with its last state", event.Line, revision)
	}

	for _, url := range []string{configMaps, "/api/v1/configmaps", configMaps + "?resourceVersion=0"} {
		answer := gw.Do(t, "GET", url, "")
		if answer.Code != 200 || len(answer.Object.Items) != 1 || answer.Object.Items[0].Metadata.Name != "good" {
			t.Errorf("GET %s: %d %s, want the decodable objects", url, answer.Code, answer.Body)
		}
		warnings := strings.Join(answer.Header.Values("Warning"), "\n")
		for _, name := range []string{"garbage", "list", "open", "turns"} {
			if !strings.Contains(warnings, keyPrefix+name) {
				t.Errorf("GET %s: the warnings do not name %s:\n%s", url, keyPrefix+name, warnings)
			}
		}
	}
	if got := undecodable(); got != "5" {
		t.Errorf("%s undecodable values, want 5", got)
	}
	if answer := gw.Do(t, "GET", configMaps+"/garbage", ""); answer.Code != 404 || !strings.Contains(answer.Header.Get("Warning"), keyPrefix+"garbage") {
		t.Errorf("GET of garbage: %d, Warning %q", answer.Code, answer.Header.Get("Warning"))
	}

	etcd.Put(t, keyPrefix+"turns", gatewaytest.ConfigMap("turns", "2"))
	if event := watch.Next(t); event.Type != "ADDED" || event.Object.Data["value"] != "2" {
		t.Errorf("garbage that became an object: %s", event.Line)
	}
	etcd.Delete(t, keyPrefix+"garbage")
	gatewaytest.Until(t, "garbage that is gone is not counted", func() bool { return undecodable() == "3" })
}
