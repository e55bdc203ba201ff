package history

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/history/historyapi"
)

// TestLogWithoutOne checks that the changes of the other resources are printed while one is not recorded yet, and its own when it is.
func TestLogWithoutOne(t *testing.T) {
	var recorded atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("resource")
		if name == "secrets" && !recorded.Load() {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","code":503,"reason":"ServiceUnavailable","message":"the history of secrets is not recorded yet"}`)
			return
		}
		revision, through := 3, 9
		if r.URL.Query().Get("until") != "" {
			revision, through = 11, 12
		}
		_, _ = fmt.Fprintf(w, `{"type":"MODIFIED","revision":%d,"namespace":"default","name":"in-%s","fields":["data"],"object":{}}`+"\n"+`{"type":"END","oldest":2,"through":%d}`+"\n", revision, name, through)
	}))
	defer server.Close()
	c, err := client.New(client.Config{Servers: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out, notices bytes.Buffer
	l := &logger{named: true, follow: true, notices: func(text string) { notices.WriteString(text + "\n") }}
	l.printer = &printer{session: &l.session, output: output{format: formats[0]}, out: &out, objects: true}
	for _, plural := range []string{"secrets", "configmaps"} {
		resource := client.Resource{Version: "v1", Plural: plural, Singular: plural}
		l.readers = append(l.readers, &position{Reader: historyapi.Reader{Client: c, Query: historyapi.Query{Resource: resource}}})
	}
	if err := l.round(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "in-configmaps") || strings.Count(notices.String(), "the history of secrets is not recorded yet") != 1 {
		t.Errorf("%s%s", out.String(), notices.String())
	}
	recorded.Store(true)
	if err := l.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.round(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "in-secrets") || !strings.Contains(notices.String(), "the history of secrets is there now") {
		t.Errorf("%s%s", out.String(), notices.String())
	}

	recorded.Store(false)
	l.readers = l.readers[:1]
	if err := l.round(t.Context(), 14); err == nil {
		t.Error("a gateway that is not available is no error")
	}
}
