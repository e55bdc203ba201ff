package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

const (
	settings = "/apis/app.example.com/v1/settings"
	notes    = "/apis/app.example.com/v1/notes"
)

// recordedMounts are mounts of which one has namespaces.
const recordedMounts = `apiVersion: revtail/v1
mounts:
- {prefix: /app/config/, group: app.example.com, kind: Setting, plural: settings}
- {prefix: /team/, group: app.example.com, kind: Note, plural: notes, codec: string, namespaced: true}
`

// TestHistoryOfMountsAndKeys checks that the keys of mounts and of the keys API are read and watched at compacted revisions with --history-dir, also
// after kill -9, and that mounts have their history.
func TestHistoryOfMountsAndKeys(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "revtail.yaml")
	writeFile(t, config, recordedMounts)
	gw := gatewaytest.Start(t, "--config", config, "--keys", "/kv/,/one", "--history-dir", filepath.Join(t.TempDir(), "journal"))
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	begun := etcd.Put(t, "/elsewhere", "first")
	awaitJournal(t, gw, begun, "/app/config/", "/kv/", "/one", "/registry/", "/team/")
	var written []int64
	for i := range 5 {
		written = append(written, etcd.Put(t, "/app/config/a", fmt.Sprintf(`{"level":%d}`, i), "/team/red/n", fmt.Sprint("red ", i), "/kv/a", fmt.Sprint(i), "/one", fmt.Sprint(i), "/one-more", "not open"))
	}
	etcd.Put(t, "/team/blue/n", "blue")
	last := etcd.Delete(t, "/team/red/n")
	awaitJournal(t, gw, last, "/app/config/", "/kv/", "/one", "/team/")
	<-time.After(300 * time.Millisecond) // they are on the disk a moment later
	etcd.Compact(t, etcd.Revision(t))
	for _, restarted := range []bool{false, true} {
		if restarted {
			gw.Kill(t)
			gw.Restart(t)
			awaitJournal(t, gw, etcd.Revision(t), "/app/config/", "/kv/", "/one", "/team/")
		}
		for i, at := range written {
			checkMountsAt(t, gw, i, at)
			checkKeysAt(t, gw, i, at)
		}
		checkMountWatch(t, gw, written)
		checkMountHistory(t, gw, written, last)
	}
	writeFile(t, config, recordedMounts+"- {prefix: /late/, group: app.example.com, kind: Late, plural: lates}\n")
	gw.Hangup(t)
	gatewaytest.Until(t, "the new mount", func() bool {
		return gw.Do(t, http.MethodGet, "/apis/app.example.com/v1/lates", "").Code == http.StatusOK
	})
	if a := gw.Do(t, http.MethodGet, "/v1/history?group=app.example.com&resource=lates", ""); a.Code != http.StatusNotFound || !strings.Contains(a.Body, "recorded from its next start on") {
		t.Errorf("a mount that came while the gateway ran: %d %s", a.Code, a.Body)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitJournal waits until the journal of a gateway has a revision of some prefixes.
func awaitJournal(t *testing.T, gw *gatewaytest.Gateway, revision int64, prefixes ...string) {
	t.Helper()
	for _, prefix := range prefixes {
		gatewaytest.Until(t, fmt.Sprintf("revision %d of %s in the journal", revision, prefix), func() bool {
			var newest float64
			_, err := fmt.Sscan(gatewaytest.Metric(t, gw.URL+"/metrics", `revtail_journal_newest_revision{prefix="`+prefix+`"}`), &newest)
			return err == nil && int64(newest) >= revision
		})
	}
}

// checkMountsAt checks gets and lists of mounts at the revision of write i.
func checkMountsAt(t *testing.T, gw *gatewaytest.Gateway, i int, at int64) {
	t.Helper()
	for path, wants := range map[string][]string{
		fmt.Sprintf("%s/a?at=%d", settings, at):                                       {fmt.Sprintf(`"level":%d`, i), fmt.Sprintf(`"resourceVersion":"%d"`, at)},
		fmt.Sprintf("%s?at=%d", notes, at):                                            {fmt.Sprintf(`"red %d"`, i)},
		fmt.Sprintf("%s?resourceVersionMatch=Exact&resourceVersion=%d", settings, at): {fmt.Sprintf(`"level":%d`, i)},
		fmt.Sprintf("/apis/app.example.com/v1/namespaces/red/notes?at=%d", at):        {fmt.Sprintf(`"red %d"`, i)},
		fmt.Sprintf("/apis/app.example.com/v1/namespaces/blue/notes?at=%d", at):       {`"items":[]`},
		fmt.Sprintf("/apis/app.example.com/v1/namespaces/red/notes/n?at=%d", at):      {fmt.Sprintf(`red %d`, i)},
	} {
		a := gw.Do(t, http.MethodGet, path, "")
		for _, want := range wants {
			if a.Code != http.StatusOK || !strings.Contains(a.Body, want) {
				t.Errorf("%s: %d %s, want %s", path, a.Code, a.Body, want)
			}
		}
	}
}

// checkKeysAt checks reads and polls of keys at the revision of write i.
func checkKeysAt(t *testing.T, gw *gatewaytest.Gateway, i int, at int64) {
	t.Helper()
	for path, want := range map[string]string{
		fmt.Sprintf("/v1/keys/kv/a?at=%d", at):                        fmt.Sprintf(`"value":%d,`, i),
		fmt.Sprintf("/v1/keys/kv/?at=%d", at):                         fmt.Sprintf(`"value":%d,`, i),
		fmt.Sprintf("/v1/keys/one?at=%d", at):                         fmt.Sprintf(`"value":%d,`, i),
		fmt.Sprintf("/v1/keys/kv/?at=%d&count", at):                   `"count":1`,
		fmt.Sprintf("/v1/keys?key=/one&wait=10s&since=%d", at-1):      fmt.Sprintf(`"value":%d,`, i),
		fmt.Sprintf("/v1/keys?key=/kv/&wait=10s&since=%d&prev", at-1): fmt.Sprintf(`"value":%d,`, i),
	} {
		if a := gw.Do(t, http.MethodGet, path, ""); a.Code != http.StatusOK || !strings.Contains(a.Body, want) || strings.Contains(a.Body, "not open") {
			t.Errorf("%s: %d %s, want %s", path, a.Code, a.Body, want)
		}
	}
}

// checkMountWatch checks that watches from a compacted revision have every event, and go on with etcd.
func checkMountWatch(t *testing.T, gw *gatewaytest.Gateway, written []int64) {
	t.Helper()
	for _, from := range []string{"resourceVersion", "at"} {
		watch := gw.Watch(t, fmt.Sprintf("%s?watch=1&%s=%d", settings, from, written[0]))
		for _, revision := range written[1:] {
			if event := watch.Next(t); event.Type != "MODIFIED" || event.Object.Metadata.ResourceVersion != fmt.Sprint(revision) {
				t.Fatalf("%s, want the change at %d", event.Line, revision)
			}
		}
		gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Put(t, "/app/config/b", `"now"`)
		if event := watch.Next(t); event.Object.Metadata.Name != "b" {
			t.Errorf("after the journal: %s, want the event of etcd", event.Line)
		}
		watch.Close()
	}
}

// checkMountHistory checks the changes of mounts, of one namespace alone if the request names one.
func checkMountHistory(t *testing.T, gw *gatewaytest.Gateway, written []int64, last int64) {
	t.Helper()
	type change struct {
		Type, Namespace, Name string
		Revision              int64
		Fields                []string
	}
	history := func(query string) (out []change) {
		t.Helper()
		a := gw.Do(t, http.MethodGet, "/v1/history?group=app.example.com&"+query, "")
		for line := range strings.Lines(a.Body) {
			var c change
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("%s: %v", a.Body, err)
			}
			out = append(out, c)
		}
		if n := len(out); a.Code != http.StatusOK || n == 0 || out[n-1].Type != "END" {
			t.Fatalf("%s: %d %s", query, a.Code, a.Body)
		}
		return out[:len(out)-1]
	}
	until := fmt.Sprintf("&until=%d", last)
	if got := history("resource=settings&name=a" + until); len(got) != len(written) || got[0].Type != "ADDED" || fmt.Sprint(got[1].Fields) != "[value.level]" || got[2].Revision != written[2] {
		t.Errorf("a setting: %+v", got)
	}
	if got := history("resource=notes" + until); len(got) != len(written)+2 || got[len(got)-1].Type != "DELETED" || got[len(got)-1].Revision != last {
		t.Errorf("all notes: %+v", got)
	}
	if got := history("resource=notes&namespace=blue" + until); len(got) != 1 || got[0].Namespace != "blue" {
		t.Errorf("the notes of one namespace: %+v", got)
	}
	if a := gw.Do(t, http.MethodGet, "/v1/history?key=/kv/a", ""); a.Code != http.StatusBadRequest || !strings.Contains(a.Body, "of resources and mounts, and none of other keys") {
		t.Errorf("the history of a key: %d %s", a.Code, a.Body)
	}
}
