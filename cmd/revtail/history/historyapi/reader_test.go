package historyapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/history/historyapi"
)

// gateway answers requests for pages: by the resource, and since of the query.
func gateway(t *testing.T, pages map[string]string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Query().Get("resource")+" "+r.URL.Query().Get("since")]
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotImplemented)
			page = `{"kind":"Status","apiVersion":"v1","code":501,"reason":"NotImplemented","message":"this gateway keeps no history"}`
		}
		_, _ = fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{Servers: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// textOf returns an entry as a text.
func textOf(e historyapi.Entry) string {
	if e.IsGap() {
		return fmt.Sprintf("gap %d %d", e.After, e.Until)
	}
	return fmt.Sprintf("%s %d %s", e.Type, e.Revision, e.Name)
}

func change(revision int, name string) string {
	return fmt.Sprintf(`{"type":"MODIFIED","revision":%d,"name":%q,"fields":["data.a"],"object":{}}`+"\n", revision, name)
}

const gap = `{"type":"GAP","after":4,"until":6}` + "\n"

func TestReader(t *testing.T) {
	const end = `{"type":"END","oldest":2,"through":9}` + "\n"
	tests := []struct {
		name  string
		pages map[string]string
		want  []string
		err   string
	}{
		{"pages", map[string]string{
			"configmaps ":  change(3, "a") + gap + change(7, "b") + `{"type":"END","oldest":2,"through":9,"next":8}` + "\n",
			"configmaps 8": gap + change(8, "c") + end,
		}, []string{"MODIFIED 3 a", "gap 4 6", "MODIFIED 7 b", "MODIFIED 8 c"}, ""},
		{"nothing", map[string]string{"configmaps ": end}, nil, ""},
		{"cut off", map[string]string{"configmaps ": change(3, "a")}, nil, "cut off after 1 changes"},
		{"cut within a line", map[string]string{"configmaps ": change(3, "a") + `{"type":"MOD`}, nil, "a line of the history"},
		{"an error midway", map[string]string{"configmaps ": change(3, "a") + `{"type":"ERROR","object":{"kind":"Status","code":500,"message":"the disk is gone"}}`}, nil, "the disk is gone"},
		{"a page that never ends", map[string]string{"configmaps ": `{"type":"END","next":8}`, "configmaps 8": `{"type":"END","next":8}`}, nil, "continues at revision 8"},
		{"a newer gateway", map[string]string{"configmaps ": `{"type":"RENAMED","revision":3}`}, nil, `unknown type "RENAMED"`},
		{"no revision", map[string]string{"configmaps ": `{"type":"ADDED"}`}, nil, "has no revision"},
		{"no history", nil, nil, "start it as 'revtail serve --history-dir DIR'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &historyapi.Reader{Client: gateway(t, test.pages), Query: historyapi.Query{Resource: client.Resource{Version: "v1", Plural: "configmaps"}}}
			var got []string
			var failed error
			for e, err := range r.Entries(t.Context()) {
				if failed = err; err == nil {
					got = append(got, textOf(e))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			switch {
			case test.err == "" && (failed != nil || r.End.Oldest != 2 || r.End.Through != 9):
				t.Errorf("%v, the end is %+v", failed, r.End)
			case test.err != "" && (failed == nil || !strings.Contains(failed.Error(), test.err)):
				t.Errorf("the error is %v, want %q", failed, test.err)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	const end = `{"type":"END","oldest":1,"through":9}`
	c := gateway(t, map[string]string{
		"pods ":       change(2, "p") + gap + change(8, "p") + end,
		"configmaps ": change(3, "c") + gap + change(7, "c") + change(9, "c") + end,
		"leases ":     end,
	})
	read := func(skip func(int, error) bool, plurals ...string) (got []string, failed error) {
		var readers []*historyapi.Reader
		for _, plural := range plurals {
			readers = append(readers, &historyapi.Reader{Client: c, Query: historyapi.Query{Resource: client.Resource{Version: "v1", Plural: plural}}})
		}
		for e, err := range historyapi.Merge(t.Context(), readers, skip) {
			if failed = err; err == nil {
				got = append(got, textOf(e.Entry))
			}
		}
		return got, failed
	}
	want := []string{"MODIFIED 2 p", "MODIFIED 3 c", "gap 4 6", "MODIFIED 7 c", "MODIFIED 8 p", "MODIFIED 9 c"}
	got, err := read(nil, "pods", "leases", "configmaps")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if got, err = read(nil, "pods", "secrets"); err == nil || got != nil {
		t.Errorf("with a resource that is refused: %q, %v, want the error", got, err)
	}
	skipped := -1
	got, err = read(func(i int, _ error) bool { skipped = i; return true }, "secrets", "pods", "configmaps")
	if diff := cmp.Diff(want, got); diff != "" || err != nil || skipped != 0 {
		t.Errorf("%v, %d is skipped (-want +got)\n%s", err, skipped, diff)
	}
}
