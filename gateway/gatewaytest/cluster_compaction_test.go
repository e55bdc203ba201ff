package gatewaytest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// TestClusterCompaction checks that while the kube-apiserver compacts etcd every second, under a load, the gateway loses no event of watches that
// are open or resumed, that its pages are those of one revision, and that it answers what needs the compacted history as the kube-apiserver does.
func TestClusterCompaction(t *testing.T) {
	t.Parallel()
	c := startLoaded(t, "--etcd-compaction-interval", "1s")
	for _, name := range []string{"first", "second"} { // two pages
		c.admin.Create(t, configMaps, gatewaytest.ConfigMap(name, ""))
	}
	first := c.gateway.Get(t, configMaps+"?limit=1")
	old := first.Metadata.ResourceVersion
	kube := pageReader{connect(t, c.kube.URL, "Bearer "+c.kube.Token, c.kube.TLS), c.admin.Get(t, configMaps+"?limit=1").Metadata.Continue}
	gateway := pageReader{connect(t, c.gateway.URL, "", nil), first.Metadata.Continue}
	followers := map[*follower]func(){}
	for who, f := range map[string]*follower{
		"an open watch":                 {},
		"a watch that is cut":           {cut: 20},
		"a watch that is cut each time": {cut: 1},
	} {
		f.who, f.servers = who, []*gatewaytest.Gateway{c.gateway}
		followers[f] = f.follow(t, old)
	}
	c.startLoad(t)
	pages := c.readPages(t)
	compareExpired(t, old, kube, gateway)
	c.endLoad()
	history := c.history(t)
	for f, stop := range followers {
		f.end(t, stop, history)
		if len(f.expired) > 0 {
			t.Errorf("%s has 410", f.who)
		}
	}
	for revision, names := range pages {
		if diff := cmp.Diff(stateAt(history, revision), names); diff != "" {
			t.Errorf("pages of revision %s (-etcd +gateway):\n%s", revision, diff)
		}
	}
	if len(pages) < 3 {
		t.Errorf("%d lists were read in pages", len(pages))
	}
}

// readPages reads the ConfigMaps of the load in pages, again and again, until the load has changed enough of them. It returns what it has read by
// revision.
func (c *loadedCluster) readPages(t *testing.T) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	for len(c.changes(t)) < leastChanges {
		var names []string
		var revision string
		for next, more := "", true; more; {
			answer := c.gateway.Do(t, http.MethodGet, configMaps+"?limit=3&continue="+url.QueryEscape(next), "")
			if answer.Code != http.StatusOK {
				t.Fatalf("a page: %d %s", answer.Code, answer.Body)
			}
			revision, next = answer.Object.Metadata.ResourceVersion, answer.Object.Metadata.Continue
			for _, item := range answer.Object.Items {
				if strings.HasPrefix(item.Metadata.Name, "load-") {
					names = append(names, item.Metadata.Name+" "+item.Metadata.ResourceVersion)
				}
			}
			more = next != ""
			<-time.After(20 * time.Millisecond) // so that objects change between two pages
		}
		out[revision] = names
	}
	return out
}

// stateAt returns the objects at a revision, as a list has them, from the history up to it.
func stateAt(history []string, revision string) []string {
	state := make(map[string]string)
	for _, change := range history {
		fields := strings.Fields(change)
		if len(fields[2]) > len(revision) || len(fields[2]) == len(revision) && fields[2] > revision {
			break
		}
		state[fields[1]] = fields[1] + " " + fields[2]
		if fields[0] == "deleted" {
			delete(state, fields[1])
		}
	}
	var out []string
	for _, object := range state {
		out = append(out, object)
	}
	slices.Sort(out) // names have one length
	return out
}

// pageReader is a client of a server that has read the first page of a list.
type pageReader struct {
	apiServer
	token string // for the second page
}

// compareExpired waits until a revision is compacted, and compares the answers to requests that need it.
func compareExpired(t *testing.T, old string, kube, gateway pageReader) {
	t.Helper()
	exact := configMaps + "?resourceVersionMatch=Exact&resourceVersion=" + old
	answers := func(s pageReader) (out []apiAnswer) {
		gatewaytest.Until(t, s.url+" without revision "+old, func() bool { return s.do(t, read(exact)).Code != http.StatusOK })
		for _, path := range []string{exact, exact + "&limit=1", configMaps + "?limit=1&continue=" + url.QueryEscape(s.token)} {
			answer := comparable(s.do(t, read(path)))
			if body, ok := answer.Body.(map[string]any); ok {
				delete(body, "message") // its words are not the same for a continue token
			}
			out = append(out, answer)
		}
		return out
	}
	got := answers(gateway)
	if diff := cmp.Diff(answers(kube), got); diff != "" || got[0].Code != http.StatusGone {
		t.Errorf("%d (-kube-apiserver +gateway):\n%s", got[0].Code, diff)
	}
	if events := fmt.Sprint(gateway.events(t, configMaps+"?watch=1&timeoutSeconds=1&resourceVersion=1")); !strings.HasPrefix(events, "map[/:[ERROR map[apiVersion:v1 code:410 ") {
		t.Errorf("a watch from a compacted revision has %.1000s, want 410", events)
	}
}
