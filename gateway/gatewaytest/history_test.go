package gatewaytest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// TestHistoryDir checks that compacted revisions are watched, listed and read with --history-dir, also after kill -9; that another gateway without
// a journal answers 410; and that the journal has no value of a Secret.
func TestHistoryDir(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	gw := gatewaytest.Start(t, "--history-dir", journal)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	old := gw.Create(t, configMaps, gatewaytest.ConfigMap("a", "0")).Metadata.ResourceVersion
	gw.Create(t, secrets, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"stringData":{"p":"correct-horse"}}`)
	var revisions []string
	for i := range 20 {
		answer := gw.Patch(t, configMaps+"/a", fmt.Sprintf(`{"data":{"value":"%d"}}`, i+1))
		revisions = append(revisions, answer.Metadata.ResourceVersion)
	}
	gatewaytest.Until(t, "the journal has all events", func() bool {
		return gatewaytest.Metric(t, gw.URL+"/metrics", `revtail_journal_newest_revision{prefix="/registry/"}`) >= revisions[len(revisions)-1]
	})
	<-time.After(300 * time.Millisecond) // they are on the disk a moment later
	etcd.Compact(t, etcd.Revision(t))
	gw.Kill(t)
	gw.Restart(t)
	watch := gw.Watch(t, configMaps+"?watch=1&resourceVersion="+old)
	for i, revision := range revisions {
		event := watch.Next(t)
		if event.Type != "MODIFIED" || event.Object.Metadata.ResourceVersion != revision || event.Object.Data["value"] != fmt.Sprint(i+1) {
			t.Fatalf("event %d: %s, want the value %d at %s", i, event.Line, i+1, revision)
		}
	}
	gw.Patch(t, configMaps+"/a", `{"data":{"value":"now"}}`)
	if event := watch.Next(t); event.Object.Data["value"] != "now" {
		t.Errorf("after the journal: %s, want the event of etcd", event.Line)
	}
	list := gw.Do(t, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+revisions[9], "")
	if list.Code != 200 || len(list.Object.Items) != 1 || list.Object.Items[0].Data["value"] != "10" {
		t.Errorf("list at a compacted revision: %d %s", list.Code, list.Body)
	}
	if list := gw.Do(t, "GET", secrets+"?resourceVersionMatch=Exact&resourceVersion="+revisions[9], ""); list.Code != 410 {
		t.Errorf("list of Secrets at a compacted revision: %d %s, want 410", list.Code, list.Body)
	}
	other := gatewaytest.Start(t, "--etcd-endpoints", gw.EtcdEndpoint)
	if event := other.Watch(t, configMaps+"?watch=1&resourceVersion="+old).Next(t); event.Object.Code != 410 {
		t.Errorf("without a journal: %s, want 410", event.Line)
	}
	gw.Stop(t)
	checkAbsent(t, journal, "correct-horse", "Y29ycmVjdC1ob3JzZQ")
}

// checkAbsent checks that no file of a folder contains one of some texts.
func checkAbsent(t *testing.T, folder string, texts ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the files of %s: %v (%v)", folder, files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // the name is ours
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				t.Errorf("%s contains %q", file, text)
			}
		}
	}
}
