package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentOfClientThatLeaves checks that a document is kept when all its bytes came, also if its client leaves before the answer ends.
func TestDocumentOfClientThatLeaves(t *testing.T) {
	const text = `{"kind":"APIGroupList"}`
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = io.WriteString(rw, text) // the other side sees that it is missing
		if err := http.NewResponseController(rw).Flush(); err != nil {
			t.Error(err)
		}
		<-r.Context().Done() // HTTP/2 tells the end of the answer only when the handler returns
	})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.gateway.URL+"/apis", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer bob")
	resp, err := w.client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadFull(resp.Body, make([]byte, len(text)))
	leave()
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	w.kube.CloseClientConnections()
	w.kube.Close()
	if resp, got := w.do(t, w.client(t), "GET", "/apis", "", "Authorization", "Bearer bob"); resp.StatusCode != http.StatusOK || got != text || resp.Header.Get("Warning") == "" {
		t.Errorf("while the kube-apiserver is away: %v %s", resp, got)
	}
}

// TestDocuments checks that discovery goes on, with a warning, for those who may read it.
func TestDocuments(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Etag", `"1"`)
		rw.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io")
		_, _ = fmt.Fprintf(rw, "%s of %s", r.URL.Path, r.Header.Get("Authorization")) // the other side sees that it is missing
	})
	bob := []string{"Authorization", "Bearer bob"}
	for _, path := range []string{"/apis", "/api/v1", "/version", "/openapi/v3/apis/apps/v1?hash=A", "/api/v1/namespaces/a/configmaps/b/unknown"} {
		if resp, text := w.do(t, w.client(t), "GET", path, "", bob...); resp.StatusCode != 200 || resp.Header.Get("Warning") != "" {
			t.Fatalf("%s: %v %s", path, resp, text)
		}
	}
	w.kube.Close()
	for path, want := range map[string]string{
		"/apis": "/apis of Bearer bob", "/api/v1": "/api/v1 of Bearer bob", "/version": "/version of Bearer bob",
		"/openapi/v3/apis/apps/v1?hash=A": "/openapi/v3/apis/apps/v1 of Bearer bob", "/openapi/v3/apis/apps/v1?hash=B": "", "/api": "",
		"/api/v1/namespaces/a/configmaps/b/unknown": "",
	} {
		resp, text := w.do(t, w.client(t), "GET", path, "", "Authorization", "Bearer carol")
		switch {
		case want == "" && resp.StatusCode != http.StatusServiceUnavailable:
			t.Errorf("%s: %v %s, want 503", path, resp, text)
		case want == "":
		case resp.StatusCode != http.StatusOK, text != want, !strings.Contains(resp.Header.Get("Warning"), "the kube-apiserver does not answer: "), resp.Header.Get("Age") == "",
			resp.Header.Get("Content-Type") != "application/json;g=apidiscovery.k8s.io":
			t.Errorf("%s: %v %s", path, resp, text)
		}
	}
	if resp, _ := w.do(t, w.client(t), "GET", "/apis", "", append(bob, "If-None-Match", `"1"`)...); resp.StatusCode != http.StatusNotModified {
		t.Errorf("with the ETag: %d", resp.StatusCode)
	}
	if resp, _ := w.do(t, w.client(t), "GET", "/apis", "", append(bob, "Accept", "application/yaml")...); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("in another representation: %d", resp.StatusCode)
	}
	if resp, _ := w.do(t, w.client(t), "GET", "/apis", "", append(bob, "Impersonate-User", "carol")...); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("as another user: %d", resp.StatusCode)
	}
	w.people.forbids.Store(true)
	if resp, _ := w.do(t, w.client(t), "GET", "/apis", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a credential: %d", resp.StatusCode)
	}
}
