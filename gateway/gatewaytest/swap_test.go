package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestSwappedEtcd replaces etcd by another one whose revisions are beyond those of the first. What clients keep of the first history, for
// watches, past states and pages, is 410, and nothing of the other history is served for it.
func TestSwappedEtcd(t *testing.T) {
	t.Parallel()
	first, second := gatewaytest.StartEtcd(t, 1).Members[0], gatewaytest.StartEtcd(t, 1).Members[0]
	filler := gatewaytest.DialEtcd(t, second.Endpoint)
	for i := range 100 {
		filler.Put(t, "/registry/configmaps/default/other", gatewaytest.ConfigMap("other", fmt.Sprint(i)))
	}
	second.Stop(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", first.Endpoint, "--keys", "/registry/")
	for i := range 20 {
		gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("a", i), ""))
	}
	var page struct{ Metadata struct{ Continue string } }
	if err := json.Unmarshal([]byte(gw.Do(t, "GET", configMaps+"?limit=5", "").Body), &page); err != nil {
		t.Fatal(err)
	}
	last := gw.Get(t, configMaps).Metadata.ResourceVersion
	first.Stop(t)
	first.ReplaceBy(t, second)
	gatewaytest.Until(t, "the other history", func() bool { return strings.Contains(gw.Do(t, "GET", configMaps, "").Body, `"other"`) })

	for _, url := range []string{
		configMaps + "?watch=1&resourceVersion=" + last, configMaps + "?watch=1&resourceVersion=3",
		"/v1/keys/registry/configmaps/?watch=1&since=" + last,
	} {
		if line := gw.Watch(t, url).Next(t).Line; !strings.Contains(line, "410") {
			t.Errorf("%s: %.300s", url, line)
		}
	}
	for _, url := range []string{
		configMaps + "?resourceVersionMatch=Exact&resourceVersion=" + last,
		configMaps + "?limit=5&continue=" + page.Metadata.Continue,
		"/v1/keys/registry/configmaps/?at=" + last,
	} {
		if answer := gw.Do(t, "GET", url, ""); answer.Code != 410 {
			t.Errorf("%s: %d %.300s", url, answer.Code, answer.Body)
		}
	}
	now := gw.Get(t, configMaps).Metadata.ResourceVersion
	watch := gw.Watch(t, configMaps+"?watch=1&resourceVersion="+now)
	gatewaytest.DialEtcd(t, first.Endpoint).Put(t, "/registry/configmaps/default/other", gatewaytest.ConfigMap("other", "new"))
	if event := watch.Next(t); event.Type != "MODIFIED" {
		t.Errorf("a watch of the present history: %s", event.Line)
	}
}
