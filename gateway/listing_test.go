package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// transports returns functions that send a request over each transport and return the body and the header of the response.
func (s *testServer) transports() map[string]func(path string, header ...string) (string, *http.Response) {
	secure := httptest.NewUnstartedServer(s.server)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	s.t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	over := func(url string, protocols func(*http.Protocols)) func(string, ...string) (string, *http.Response) {
		transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: roots}}
		protocols(transport.Protocols)
		s.t.Cleanup(transport.CloseIdleConnections)
		return func(path string, header ...string) (string, *http.Response) {
			request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url+path, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				request.Header.Set(header[i], header[i+1])
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				s.t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				s.t.Fatal(err)
			}
			return string(body), response
		}
	}
	return map[string]func(string, ...string) (string, *http.Response){
		"HTTP/1.1":     over(s.url, func(p *http.Protocols) { p.SetHTTP1(true) }),
		"TLS HTTP/1.1": over(secure.URL, func(p *http.Protocols) { p.SetHTTP1(true) }),
		"HTTP/2":       over(secure.URL, func(p *http.Protocols) { p.SetHTTP2(true) }),
	}
}

// TestListsAreTheSameOverEveryTransport checks that a list has the same text over every transport, however its documents are held in
// memory.
func TestListsAreTheSameOverEveryTransport(t *testing.T) {
	s := newTestServer(t)
	s.fill(2000)
	for i := range 100 {
		s.do(http.MethodPatch, fmt.Sprintf("%s/c%04d", configMaps, i*i%2000), `{"data":{"k":"`+strings.Repeat("y", i*20)+`"}}`, "Content-Type", "application/merge-patch+json")
	}
	transports := s.transports()
	for _, query := range []string{"", "?limit=1", "?limit=30", "?limit=1500", "?resourceVersion=0", "?fieldSelector=metadata.name%3Dc0001", "?labelSelector=none"} {
		want, _ := transports["HTTP/1.1"](configMaps+query, "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		names := itemNames(t, want)
		first := ""
		for name, over := range transports {
			for range 2 { // on the same connection
				body, response := over(configMaps + query)
				if length := response.Header.Get("Content-Length"); !strings.Contains(query, "Selector") && length != fmt.Sprint(len(body)) {
					t.Errorf("%s over %s: Content-Length %q of %d", query, name, length, len(body))
				}
				if got := itemNames(t, body); !slices.Equal(got, names) {
					t.Fatalf("%s over %s: %d items, want %d", query, name, len(got), len(names))
				}
				if body = withoutListMeta(body); first == "" {
					first = body
				}
				if body != first {
					t.Errorf("%s over %s is different", query, name)
				}
			}
			packed, response := over(configMaps+query, "Accept-Encoding", "gzip")
			if response.Header.Get("Content-Encoding") == "gzip" {
				packed = gunzip(t, packed)
			}
			if withoutListMeta(packed) != first {
				t.Errorf("%s over %s with gzip is different", query, name)
			}
		}
	}
	head := s.do(http.MethodHead, configMaps, "")
	if body, _ := transports["HTTP/1.1"](configMaps); head.body != "" || head.header.Get("Content-Length") != fmt.Sprint(len(body)) {
		t.Errorf("HEAD: %d bytes, %v", len(head.body), head.header)
	}
}

// listMeta is the metadata of a list.
var listMeta = regexp.MustCompile(`"metadata": ?\{[^}]*\}`)

// withoutListMeta returns a list without its metadata. The revision of two equal lists differs if the gateway has written something of its own
// between them, and so does the continue token.
func withoutListMeta(list string) string {
	at := listMeta.FindStringIndex(list)
	if at == nil {
		return list
	}
	return list[:at[0]] + list[at[1]:]
}

func itemNames(t *testing.T, body string) []string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	names := make([]string, len(list.Items))
	for i, item := range list.Items {
		names[i] = item.Metadata.Name
	}
	return names
}
