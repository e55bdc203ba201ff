package gatewaytest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Answer is a response of a gateway.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
	Object Object // decoded Body, if it is JSON
}

// client makes a connection for each request, so that none is left when a gateway or a test ends.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (g *Gateway) client() *http.Client {
	if g.TLS == nil {
		return client
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: g.TLS}}
}

// Do sends a request with a JSON body, a merge patch for PATCH, and reads the whole response. An empty body is none. It fails the test when
// there is no response.
func (g *Gateway) Do(tb testing.TB, method, path, body string) Answer {
	tb.Helper()
	answer, err := g.Try(tb.Context(), method, path, body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer
}

// Try is Do for a gateway that may end during the request.
func (g *Gateway) Try(ctx context.Context, method, path, body string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.URL+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if g.Token != "" {
		req.Header.Set("Authorization", "Bearer "+g.Token)
	}
	switch {
	case method == http.MethodPatch:
		req.Header.Set("Content-Type", "application/merge-patch+json")
	case body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := g.client().Do(req)
	if err != nil {
		return Answer{}, err
	}
	return readAnswer(resp)
}

func readAnswer(resp *http.Response) (Answer, error) {
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return Answer{}, err
	}
	answer := Answer{Code: resp.StatusCode, Header: resp.Header, Body: string(body)}
	if len(body) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		err = json.Unmarshal(body, &answer.Object)
	}
	return answer, err
}

// Get reads an object or a list. Any code but 200 fails the test.
func (g *Gateway) Get(tb testing.TB, path string) Object {
	tb.Helper()
	return g.want(tb, http.StatusOK, http.MethodGet, path, "")
}

// Create creates an object in a collection.
func (g *Gateway) Create(tb testing.TB, collection, body string) Object {
	tb.Helper()
	return g.want(tb, http.StatusCreated, http.MethodPost, collection, body)
}

// Patch applies a JSON merge patch to an object.
func (g *Gateway) Patch(tb testing.TB, path, body string) Object {
	tb.Helper()
	return g.want(tb, http.StatusOK, http.MethodPatch, path, body)
}

// Delete deletes an object.
func (g *Gateway) Delete(tb testing.TB, path string) {
	tb.Helper()
	g.want(tb, http.StatusOK, http.MethodDelete, path, "")
}

func (g *Gateway) want(tb testing.TB, code int, method, path, body string) Object {
	tb.Helper()
	answer := g.Do(tb, method, path, body)
	if answer.Code != code {
		tb.Fatalf("%s %s: %d, want %d\n%.1000s", method, path, answer.Code, code, answer.Body)
	}
	return answer.Object
}

// Metric returns the text of a metric's value at a URL such as /metrics; empty: there is no such metric.
func Metric(tb testing.TB, url, name string) string {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := readAnswer(resp)
	if err != nil {
		tb.Fatal(err)
	}
	return answer.Metric(name)
}

// Metric returns the text of a metric's value in a response of /metrics; empty: there is no such metric.
func (a Answer) Metric(name string) string {
	for line := range strings.Lines(a.Body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
