package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"revtail/etcdstore/journal"
	"revtail/etcdstore/journal/recorder"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/changes"
)

// historyServer is a gateway with a journal.
type historyServer struct {
	*testServer
	recorder *recorder.Recorder
	stop     func() // the recorder
	journal  *journal.Journal
}

func newHistoryServer(t *testing.T) *historyServer {
	t.Helper()
	j, err := journal.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return serveHistory(t, j, memory.New())
}

// serveHistory starts a gateway that records a store into a journal.
func serveHistory(t *testing.T, j *journal.Journal, store *memory.Store) *historyServer {
	t.Helper()
	h := &historyServer{journal: j}
	h.record(t, store)
	history := &changes.Source{Store: recorder.NewRecorded(store, h.recorder), Recorder: h.recorder}
	h.testServer = serveLogged(t, store, Options{Store: recorder.NewStore(store, h.recorder), History: history, Logger: slog.New(slog.DiscardHandler)})
	return h
}

// record runs a recorder until the test ends or stop is called.
func (h *historyServer) record(t *testing.T, store *memory.Store) {
	t.Helper()
	r := recorder.New(h.journal, recorder.Config{
		Store: store, Prefixes: []string{"/registry/"}, Logger: slog.New(slog.DiscardHandler),
		Omit: func(key string, _ []byte) bool { return strings.HasPrefix(key, "/registry/secrets/") },
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx)
	}()
	h.recorder, h.stop = r, func() { cancel(); <-ended }
	t.Cleanup(h.stop)
}

// line is a line of a response, with the fields of all lines.
type line struct {
	Type, Name, Manager, Time, OldestTime string
	Revision, After, Until, Next, Through int64
	Oldest                                int64
	Fields                                []string
	Omitted                               bool
	Changes                               int
	First, Last                           int64
	Object, Previous                      map[string]any
}

// history reads a history, whose last line must be END.
func (h *historyServer) history(query string) []line {
	h.t.Helper()
	a := h.get("/v1/history?" + query)
	if a.code != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" {
		h.t.Fatalf("%s: %d %s %s", query, a.code, a.header.Get("Content-Type"), a.body)
	}
	var out []line
	for text := range strings.Lines(a.body) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			h.t.Fatalf("%s: %v", text, err)
		}
		out = append(out, l)
	}
	if len(out) == 0 || out[len(out)-1].Type != "END" {
		h.t.Fatalf("%s: the last line is not END: %s", query, a.body)
	}
	return out
}

// summary has the types and names of lines.
func summary(lines []line) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimSpace(l.Type+" "+l.Name))
	}
	return strings.Join(out, ", ")
}

// patch changes the ConfigMap a.
func (h *historyServer) patch(manager, body string) int64 {
	h.t.Helper()
	a := h.do(http.MethodPatch, "/api/v1/namespaces/default/configmaps/a?fieldManager="+manager, body, "Content-Type", "application/merge-patch+json")
	if a.code != http.StatusOK {
		h.t.Fatalf("%d %s", a.code, a.body)
	}
	return h.revisionOf(a)
}

func (h *historyServer) create(plural, name string) int64 {
	h.t.Helper()
	a := h.do(http.MethodPost, "/api/v1/namespaces/default/"+plural+"?fieldManager=alice", `{"metadata":{"name":"`+name+`"},"data":{"k":"MQ=="}}`, "Content-Type", "application/json")
	if a.code != http.StatusCreated {
		h.t.Fatalf("%d %s", a.code, a.body)
	}
	return h.revisionOf(a)
}

// compact makes the store forget all but the newest state.
func (h *historyServer) compact() {
	h.t.Helper()
	newest, err := h.store.Revision(h.t.Context())
	if err == nil {
		err = h.store.Compact(newest)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// moment returns a time, which is after all that is recorded and before all that follows: times are of milliseconds.
func (h *historyServer) moment() string {
	h.history("resource=configmaps")
	<-time.After(3 * time.Millisecond)
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	<-time.After(3 * time.Millisecond)
	return now
}

func (h *historyServer) revisionOf(a answer) (revision int64) {
	h.t.Helper()
	text, _ := a.json(h.t)["metadata"].(map[string]any)["resourceVersion"].(string)
	if _, err := fmt.Sscan(text, &revision); err != nil {
		h.t.Fatal(err)
	}
	return revision
}

// TestHistory checks the changes of objects, also when the store has compacted them, and what selects them.
func TestHistory(t *testing.T) {
	h := newHistoryServer(t)
	created := h.create("configmaps", "a")
	h.create("configmaps", "b")
	before := h.moment()
	changed := h.patch("bob", `{"data":{"k":"2"}}`)
	h.patch("carol", `{"metadata":{"labels":{"example.com/a":"1"}}}`)
	if a := h.do(http.MethodDelete, "/api/v1/namespaces/default/configmaps/a", ""); a.code != http.StatusOK {
		t.Fatal(a.body)
	}
	h.create("secrets", "s")
	lines := h.history("resource=configmaps&namespace=default&name=a&previous=true") // waits for the journal
	h.compact()
	if got := summary(lines); got != "ADDED a, MODIFIED a, MODIFIED a, DELETED a, END" {
		t.Fatal(got)
	}
	if l := lines[0]; l.Revision != created || l.Manager != "alice" || l.Object["data"] == nil || l.Previous != nil || l.Time == "" {
		t.Errorf("the creation: %+v", l)
	}
	if l := lines[1]; l.Revision != changed || l.Manager != "bob" || !slices.Equal(l.Fields, []string{"data.k"}) || fmt.Sprint(l.Previous["data"]) != "map[k:MQ==]" || fmt.Sprint(l.Object["data"]) != "map[k:2]" {
		t.Errorf("the change: %+v", l)
	}
	if l := lines[2]; l.Manager != "carol" || !slices.Equal(l.Fields, []string{"metadata.labels"}) {
		t.Errorf("the new label: %+v", l)
	}
	if l := lines[3]; fmt.Sprint(l.Object["data"]) != "map[k:2]" {
		t.Errorf("the deletion: %+v", l)
	}
	for query, want := range map[string]string{
		"resource=configmaps":                                                   "ADDED a, ADDED b, MODIFIED a, MODIFIED a, DELETED a, END",
		"resource=configmaps&name=b&namespace=default":                          "ADDED b, END",
		"resource=configmaps&namespace=other":                                   "END",
		"resource=configmaps&manager=bob":                                       "MODIFIED a, END",
		"resource=configmaps&filter=" + url.QueryEscape(`object.data.k == "2"`): "MODIFIED a, MODIFIED a, DELETED a, END",
		fmt.Sprintf("resource=configmaps&since=%d", changed):                    "MODIFIED a, MODIFIED a, DELETED a, END",
		fmt.Sprintf("resource=configmaps&until=%d", changed):                    "ADDED a, ADDED b, MODIFIED a, END",
		"resource=configmaps&until=" + before:                                   "ADDED a, ADDED b, END",
		"resource=configmaps&since=" + before:                                   "MODIFIED a, MODIFIED a, DELETED a, END",
		"resource=configmaps&since=-1h":                                         "ADDED a, ADDED b, MODIFIED a, MODIFIED a, DELETED a, END",
		"resource=configmaps&until=-1h":                                         "END",
		"resource=configmaps&limit=2":                                           "ADDED a, ADDED b, END",
		"resource=deployments&group=apps":                                       "END",
		"resource=configmaps&order=asc":                                         "ADDED a, ADDED b, MODIFIED a, MODIFIED a, DELETED a, END",
		"resource=configmaps&order=desc":                                        "DELETED a, MODIFIED a, MODIFIED a, ADDED b, ADDED a, END",
		"resource=configmaps&order=desc&limit=2":                                "DELETED a, MODIFIED a, END",
		"resource=configmaps&order=desc&manager=bob&limit=1":                    "MODIFIED a, END",
		"resource=configmaps&order=desc&until=" + before:                        "ADDED b, ADDED a, END",
		"resource=configmaps&order=desc&name=a&namespace=default&limit=3":       "DELETED a, MODIFIED a, MODIFIED a, END",
		fmt.Sprintf("resource=configmaps&order=desc&since=%d", changed):         "DELETED a, MODIFIED a, MODIFIED a, END",
	} {
		if got := summary(h.history(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	page := h.history("resource=configmaps&limit=2")
	if got := summary(h.history(fmt.Sprintf("resource=configmaps&since=%d", page[2].Next))); got != "MODIFIED a, MODIFIED a, DELETED a, END" {
		t.Errorf("the second page: %s", got)
	}
	page = h.history("resource=configmaps&limit=2&order=desc")
	if got := summary(h.history(fmt.Sprintf("resource=configmaps&order=desc&until=%d", page[2].Next))); page[2].Next != changed || got != "MODIFIED a, ADDED b, ADDED a, END" {
		t.Errorf("the second page, of the older changes: %s, from %d", got, page[2].Next)
	}
	if secret := h.history("resource=secrets"); !secret[0].Omitted || secret[0].Object != nil {
		t.Errorf("the Secret: %+v", secret)
	}
}

// TestHistoryDescends compares the changes in both orders, also in pages and with filters, for which many are read to find a few.
func TestHistoryDescends(t *testing.T) {
	h := newHistoryServer(t)
	h.create("configmaps", "a")
	for i := range 130 {
		h.patch([]string{"bob", "carol"}[i/60%2], fmt.Sprintf(`{"data":{"k":"%d"}}`, i))
		if i%9 == 0 {
			h.create("configmaps", fmt.Sprint("b", i))
		}
	}
	for _, query := range []string{"resource=configmaps", "resource=configmaps&name=a&namespace=default", "resource=configmaps&manager=carol", "resource=configmaps&namespace=default"} {
		want := h.history(query)
		want = want[:len(want)-1]
		slices.Reverse(want)
		for _, limit := range []int{0, 1, 7, 60} {
			var got []line
			for page := fmt.Sprintf("%s&order=desc&limit=%d", query, limit); page != ""; {
				lines := h.history(page)
				n := len(lines) - 1
				got = append(got, lines[:n]...)
				if page = ""; lines[n].Next != 0 {
					page = fmt.Sprintf("%s&order=desc&limit=%d&until=%d", query, limit, lines[n].Next)
				}
			}
			if !slices.EqualFunc(want, got, func(a, b line) bool { return a.Revision == b.Revision && a.Name == b.Name && a.Manager == b.Manager }) {
				t.Errorf("%s, in pages of %d: %d changes, want %d: %s", query, limit, len(got), len(want), summary(got))
			}
		}
	}
}

// TestHistoryGap checks that what the store compacted while no recorder ran is a gap.
func TestHistoryGap(t *testing.T) {
	h := newHistoryServer(t)
	h.create("configmaps", "a")
	h.history("resource=configmaps")
	h.stop()
	h.patch("bob", `{"data":{"k":"2"}}`)
	last := h.patch("bob", `{"data":{"k":"3"}}`)
	h.compact()
	h.patch("dave", `{"data":{"l":"1"}}`) // etcd has it, and so it is no part of the gap
	again := serveHistory(t, h.journal, h.store)
	again.history("resource=configmaps") // waits until the gap has ended
	again.patch("carol", `{"data":{"k":"4"}}`)
	lines := again.history("resource=configmaps")
	if got := summary(lines); got != "ADDED a, GAP, MODIFIED a, MODIFIED a, END" {
		t.Fatalf("%s, %+v", got, lines)
	}
	if gap := lines[1]; gap.Until != last || !slices.Equal(lines[2].Fields, []string{"data.l"}) {
		t.Errorf("the gap: %+v, before %+v", gap, lines[2])
	}
	if got := summary(again.history("resource=configmaps&order=desc")); got != "MODIFIED a, MODIFIED a, GAP, ADDED a, END" {
		t.Error("the newest first:", got)
	}
}

// TestHistoryCounts checks the numbers of changes in intervals, with a gap and a limit, against the changes themselves.
func TestHistoryCounts(t *testing.T) {
	h := newHistoryServer(t)
	first := h.create("configmaps", "a")
	h.create("secrets", "s")
	h.patch("bob", `{"data":{"k":"2"}}`)
	<-time.After(1100 * time.Millisecond) // another interval
	h.patch("bob", `{"data":{"k":"3"}}`)
	last := h.create("configmaps", "b")
	h.history("resource=configmaps")
	h.stop()
	h.patch("bob", `{"data":{"k":"4"}}`)
	h.patch("bob", `{"data":{"k":"5"}}`)
	h.compact()
	again := serveHistory(t, h.journal, h.store)
	again.history("resource=configmaps") // waits until the gap has ended
	after := again.patch("carol", `{"data":{"k":"6"}}`)
	for query, want := range map[string]string{
		"":                            "COUNT 4, GAP 0, COUNT 1, END 0",
		"&namespace=default&name=a":   "COUNT 3, GAP 0, COUNT 1, END 0",
		"&namespace=other":            "GAP 0, END 0",
		fmt.Sprint("&since=", last):   "COUNT 1, GAP 0, COUNT 1, END 0",
		fmt.Sprint("&until=", last-1): "COUNT 3, END 0",
	} {
		var got []string
		for _, l := range again.history("resource=configmaps&count=1000h" + query) {
			got = append(got, fmt.Sprint(l.Type, " ", l.Changes))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	var seconds []line // by pages of one
	sum := 0
	for since := first; since != 0; {
		page := again.history(fmt.Sprint("resource=configmaps&count=1s&limit=1&since=", since))
		if n := strings.Count(summary(page), "COUNT"); n != 1 || page[0].Type != "COUNT" {
			t.Fatalf("a page of one interval: %s", summary(page))
		}
		seconds, sum, since = append(seconds, page[0]), sum+page[0].Changes, page[len(page)-1].Next
	}
	for i, l := range seconds {
		if begin, err := time.Parse(time.RFC3339, l.Time); err != nil || begin.Nanosecond() != 0 || i > 0 && l.First <= seconds[i-1].Last {
			t.Errorf("interval %d: %+v", i, l)
		}
	}
	if sum != 5 || len(seconds) < 3 || seconds[0].First != first || seconds[len(seconds)-1].Last != after {
		t.Errorf("in seconds: %+v", seconds)
	}
}

// TestResourcesAtTime checks gets, lists and watches at a time and at a revision that the store has compacted.
func TestResourcesAtTime(t *testing.T) {
	h := newHistoryServer(t)
	h.create("configmaps", "a")
	first := h.patch("bob", `{"data":{"k":"2"}}`)
	before := h.moment()
	h.patch("bob", `{"data":{"k":"3"}}`)
	h.create("configmaps", "b")
	h.history("resource=configmaps")
	h.compact()
	const collection = "/api/v1/namespaces/default/configmaps"
	for _, at := range []string{before, fmt.Sprint(first)} {
		a := h.get(collection + "/a?at=" + at)
		if a.code != http.StatusOK || h.revisionOf(a) != first || fmt.Sprint(a.json(t)["data"]) != "map[k:2]" {
			t.Errorf("the object at %s: %d %s", at, a.code, a.body)
		}
		if a.header.Get("Revtail-Time") == "" && at == before {
			t.Error("the response does not say of which time it is")
		}
		list := h.get(collection + "?at=" + at)
		if items, _ := list.json(t)["items"].([]any); list.code != http.StatusOK || len(items) != 1 || h.revisionOf(list) != first {
			t.Errorf("the list at %s: %d %s", at, list.code, list.body)
		}
		if a := h.get(collection + "/b?at=" + at); a.code != http.StatusNotFound {
			t.Errorf("an object that did not exist: %d %s", a.code, a.body)
		}
		events := h.get(collection + "?watch=true&timeoutSeconds=1&at=" + at)
		if n := strings.Count(events.body, `"type":`); n != 2 || !strings.Contains(events.body, `"type":"ADDED"`) || !strings.Contains(events.body, `"k":"3"`) {
			t.Errorf("the watch from %s: %s", at, events.body)
		}
	}
	for query, says := range map[string]string{
		"?at=":                       "at= is empty: want a revision",
		"?at=10m":                    "begins with a minus: -10m",
		"?at=2126-01-01T00:00:00Z":   "is in the future",
		"?at=5&resourceVersion=3":    "at= and resourceVersion= are given",
		"?at=5&continue=abc":         "continue",
		"?at=-2h":                    "the oldest time on record is",
		"?watch=true&at=noon":        "want a revision such as 4711",
		"/a?at=5&resourceVersion=10": "at= and resourceVersion= are given",
	} {
		if a := h.get(collection + query); a.code < 400 || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s, want %q", query, a.code, a.body, says)
		}
	}
	if a := h.do(http.MethodDelete, collection+"?at=-1s", ""); a.code != http.StatusBadRequest {
		t.Errorf("a deletion at a time: %d %s", a.code, a.body)
	}
}

// TestHistoryRefuses checks the errors of requests for a history, and the description of all lines.
func TestHistoryRefuses(t *testing.T) {
	h := newHistoryServer(t)
	h.create("configmaps", "a")
	d := describeKeys(t, h.testServer)
	for query, says := range map[string]string{
		"":                                          "resource= is missing: want the plural",
		"resource=configmap":                        "there is no resource configmap in the group",
		"resource=deployments":                      "there is no resource deployments in the group",
		"resource=configmaps&namee=a":               "did you mean name?",
		"resource=keys":                             "there is no resource keys in the group",
		"key=/app/a":                                "of resources and mounts, and none of other keys",
		"resource=configmaps&name=a":                "have no such namespace",
		"resource=nodes&namespace=default":          "have no such namespace",
		"resource=configmaps&since=10m":             "begins with a minus: -10m",
		"resource=configmaps&until=yesterday":       "want a revision such as 4711",
		"resource=configmaps&limit=x":               "invalid syntax",
		"resource=configmaps&order=newest":          "want asc, the oldest change first, or desc",
		"resource=configmaps&limit=-1":              "want a number of changes",
		"resource=configmaps&count=":                "want the length of an interval of at least 1s, such as 10m",
		"resource=configmaps&count=10":              "want the length of an interval of at least 1s",
		"resource=configmaps&count=10ms":            "want the length of an interval of at least 1s",
		"resource=configmaps&count=1h&manager=bob":  "count= and manager= are given: leave one of them out",
		"resource=configmaps&count=1h&previous":     "count= and previous= are given",
		"resource=configmaps&filter=1":              "filter",
		"resource=configmaps&namespace=a/b&name=c":  "want a name, which has no slash",
		"resource=configmaps&namespace=a&name=../b": "want a name, which has no slash",
	} {
		a := h.get("/v1/history?" + query)
		if a.code < 400 || a.code >= 500 || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s, want %q", query, a.code, a.body, says)
		}
		d.checkAnswer("/v1/history", "get", a)
	}
	for text := range strings.Lines(h.get("/v1/history?resource=configmaps&previous").body) {
		d.check("a line", text, "components", "schemas", "HistoryLine")
	}
	for text := range strings.Lines(h.get("/v1/history?resource=configmaps&count=1h").body) {
		d.check("a line", text, "components", "schemas", "HistoryLine")
	}
	d.checkAnswer("/v1/history", "get", newTestServer(t).get("/v1/history?resource=configmaps"))
}
