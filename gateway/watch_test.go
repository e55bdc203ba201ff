package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/rawhttp"
)

// TestWatchIsOneChunkPerEvent reads the bytes of a watch from head to end.
func TestWatchIsOneChunkPerEvent(t *testing.T) {
	s := newTestServer(t)
	revision := s.create("first")
	_, r := rawhttp.Connect(t, strings.TrimPrefix(s.url, "http://"),
		"GET "+configMaps+"?watch=1&allowWatchBookmarks=1&resourceVersion="+revision+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	head := rawhttp.ReadHead(t, r)
	for _, want := range []string{"HTTP/1.1 200 OK\r\n", "\r\nContent-Type: application/json\r\n", "\r\nTransfer-Encoding: chunked\r\n",
		"\r\nConnection: close\r\n", "\r\nCache-Control: no-cache, private\r\n", "\r\nAudit-Id: ", "\r\nDate: ", "\r\nVary: Accept-Encoding\r\n"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is missing from the head %q", want, head)
		}
	}
	for _, name := range []string{"second", "third"} {
		s.create(name)
		chunk := rawhttp.ReadChunk(t, r)
		if !strings.HasPrefix(chunk, `{"type":"ADDED","object":{`) || !strings.HasSuffix(chunk, "}\n") || strings.Count(chunk, "\n") != 1 ||
			!strings.Contains(chunk, `"name":"`+name+`"`) {
			t.Errorf("chunk %q", chunk)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.server.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if chunk := rawhttp.ReadChunk(t, r); !strings.HasPrefix(chunk, `{"type":"BOOKMARK",`) {
		t.Errorf("the last chunk is %q, want a bookmark", chunk)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "0\r\n\r\n" {
		t.Errorf("the end is %q, %v", rest, err)
	}
}

// TestWatchThatCannotBeHijacked checks HEAD, and a request whose body net/http still has to read.
func TestWatchThatCannotBeHijacked(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.create("first")
	path := configMaps + "?watch=1&timeoutSeconds=1&resourceVersion=0"
	head := s.do(http.MethodHead, path, "")
	if head.code != http.StatusOK || head.header.Get("Content-Type") != "application/json" || head.body != "" {
		t.Errorf("HEAD: %+v", head)
	}
	if body := s.do(http.MethodGet, path, "a body"); body.code != http.StatusOK || strings.Count(body.body, "\n") != 1 {
		t.Errorf("GET with a body: %+v", body)
	}
}

// TestWatchOfAnUnreachedRevision checks that neither bookmarks nor a short deadline keep the error from a client whose revision the store does not have.
func TestWatchOfAnUnreachedRevision(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.create("first")
	for _, query := range []string{"", "&allowWatchBookmarks=1"} {
		got := s.get(configMaps + "?watch=1&timeoutSeconds=4&resourceVersion=1000" + query)
		if !strings.HasPrefix(got.body, `{"type":"ERROR"`) || !strings.Contains(got.body, `"code":410`) || strings.Count(got.body, "\n") != 1 {
			t.Errorf("%q: %d %s, want an ERROR with 410", query, got.code, got.body)
		}
	}
}
