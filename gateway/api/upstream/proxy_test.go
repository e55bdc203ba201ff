package upstream_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/api/upstream"
)

// TestIdentity checks with which credentials requests reach the kube-apiserver.
func TestIdentity(t *testing.T) {
	w := newWorld(t, echo)
	alice := w.clients.issue(t, "alice", "dev", "ops")
	stranger := newIssuer(t, "strangers").issue(t, "mallory", "system:masters")
	lie := []string{"X-Remote-User", "admin", "X-Remote-Group", "system:masters", "X-Remote-Uid", "1", "X-Remote-Extra-Scopes", "all", "x-remote-anything", "y"}
	for _, tt := range []struct {
		name         string
		certificates []tls.Certificate
		header       []string
		code         int
		user         string
		groups       []string
		token        string
	}{
		{name: "token", header: []string{"Authorization", "Bearer bob"}, code: 200, token: "Bearer bob"},
		{name: "token in lower case", header: []string{"Authorization", "bearer  bob"}, code: 200, token: "bearer  bob"},
		{name: "token and a lie", header: append([]string{"Authorization", "Bearer bob"}, lie...), code: 200, token: "Bearer bob"},
		{name: "refused token", header: []string{"Authorization", "Bearer bad"}, code: 401},
		{name: "nothing", code: 200},
		{name: "a lie", header: lie, code: 200},
		{name: "a lie that Connection names", header: append([]string{"Connection", "X-Remote-User, x-remote-group"}, lie...), code: 200},
		{name: "a ticket", header: []string{"X-Ticket", "?ticket=x"}, code: 200},
		{name: "basic authentication", header: []string{"Authorization", "Basic Ym9iOmJvYg=="}, code: 200, token: "Basic Ym9iOmJvYg=="},
		{name: "certificate", certificates: []tls.Certificate{alice}, code: 200, user: "alice", groups: []string{"dev", "ops", "system:authenticated"}},
		{name: "certificate and a lie", certificates: []tls.Certificate{alice}, header: lie, code: 200, user: "alice", groups: []string{"dev", "ops", "system:authenticated"}},
		{name: "certificate and Connection", certificates: []tls.Certificate{alice}, header: []string{"Connection", "X-Remote-User, X-Remote-Group"}, code: 200, user: "alice",
			groups: []string{"dev", "ops", "system:authenticated"}},
		{name: "certificate and token", certificates: []tls.Certificate{alice}, header: []string{"Authorization", "Bearer bob"}, code: 200, user: "alice",
			groups: []string{"dev", "ops", "system:authenticated"}},
		{name: "certificate of strangers", certificates: []tls.Certificate{stranger}, code: 401},
		{name: "certificate of strangers and token", certificates: []tls.Certificate{stranger}, header: []string{"Authorization", "Bearer bob"}, code: 200, token: "Bearer bob"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := append([]string{"Impersonate-User", "carol", "Impersonate-Extra-A", "b", "X-Forwarded-For", "192.0.2.7"}, tt.header...)
			resp, text := w.do(t, w.client(t, tt.certificates...), "POST", "/api/v1/namespaces/a/pods", "{}", header...)
			if resp.StatusCode != tt.code {
				t.Fatalf("%d %s, want %d", resp.StatusCode, text, tt.code)
			}
			if tt.code != http.StatusOK {
				return
			}
			var got echoed
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got.Body != "{}" || got.Header.Get("Impersonate-User") != "carol" || got.Header.Get("Impersonate-Extra-A") != "b" || got.Header.Get("Audit-Id") != "audited" ||
				got.Header.Get("X-Forwarded-For") != "192.0.2.7, 127.0.0.1" {
				t.Errorf("it gets %+v", got)
			}
			if user := got.Header.Get("X-Remote-User"); user != tt.user || !slices.Equal(got.Header["X-Remote-Group"], tt.groups) || got.Header.Get("Authorization") != tt.token {
				t.Errorf("it gets the user %q, groups %q and token %q", user, got.Header["X-Remote-Group"], got.Header.Get("Authorization"))
			}
			for name := range got.Header {
				credential := strings.HasPrefix(name, "X-Remote-Extra-Authentication.kubernetes.io") && strings.HasPrefix(got.Header.Get(name), "X509SHA256=")
				if strings.HasPrefix(name, "X-Remote-") && (tt.user == "" || name != "X-Remote-User" && name != "X-Remote-Group" && !credential) {
					t.Errorf("it gets %s: %q", name, got.Header[name])
				}
			}
			want := ""
			if tt.user != "" {
				want = "front-proxy-client"
			}
			if got.Certificate != want {
				t.Errorf("the connection has the certificate of %q, want %q", got.Certificate, want)
			}
			if ids := resp.Header["Audit-Id"]; len(ids) != 1 {
				t.Errorf("the response has the Audit-Ids %q", ids)
			}
		})
	}
}

// TestFrontProxyIsChecked checks that no request of a user with a certificate is sent to a kube-apiserver that takes it for that of another user.
func TestFrontProxyIsChecked(t *testing.T) {
	var forwarded atomic.Int64
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { forwarded.Add(1) })
	w.takesCertificateAs = "front-proxy-client"
	for range 2 {
		resp, text := w.do(t, w.client(t, w.clients.issue(t, "alice")), "DELETE", "/api/v1/nodes/a", "")
		if resp.StatusCode != http.StatusNotImplemented || !strings.Contains(text, "--proxy-client-cert-file") || forwarded.Load() != 0 {
			t.Errorf("%d %s, %d requests", resp.StatusCode, text, forwarded.Load())
		}
	}
	w.gateway = w.newGateway(t, nil, nil)
	if resp, text := w.do(t, w.client(t, w.clients.issue(t, "alice")), "DELETE", "/api/v1/nodes/a", ""); resp.StatusCode != http.StatusNotImplemented || forwarded.Load() != 0 {
		t.Errorf("without a front-proxy certificate: %d %s", resp.StatusCode, text)
	}
}

// TestRequestIsUnchanged checks that method, URL and redirects are the client's and the kube-apiserver's.
func TestRequestIsUnchanged(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(rw, r, "https://192.0.2.1/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		echo(rw, r)
	})
	for _, uri := range []string{"/api/v1/namespaces/a/services/https:b:/proxy/x%2Fy//z/?a=b%20c&a=%2F", "/apis/a.example.com/v1/", "/%E2%82%AC", "/a/../b"} {
		_, text := w.do(t, w.client(t), "PUT", uri, "body", "Authorization", "Bearer bob")
		var got echoed
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.URI != uri || got.Method != "PUT" || got.Body != "body" {
			t.Errorf("%s: it gets %+v, %v", uri, got, err)
		}
	}
	if resp, _ := w.do(t, w.client(t), "POST", "/redirect", ""); resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != "https://192.0.2.1/elsewhere" {
		t.Errorf("a redirect: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestStreams checks that each part of an answer reaches the client at once, and that the end of the client ends the request.
func TestStreams(t *testing.T) {
	ended, next := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		for i := 0; ; i++ {
			_, _ = fmt.Fprintf(rw, "line %d\n", i)     // the other side sees that it is missing
			_ = http.NewResponseController(rw).Flush() // the client sees that it is missing
			select {
			case <-next:
			case <-r.Context().Done():
				close(ended)
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.gateway.URL+"/api/v1/namespaces/a/pods/b/log?follow=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the request has been ended
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("line %d", i) {
			t.Fatalf("line %d: %q, %v", i, lines.Text(), lines.Err())
		}
		next <- struct{}{}
	}
	cancel()
	<-ended
}

// TestUpgrade checks that a connection that is upgraded carries bytes in both directions.
func TestUpgrade(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" || r.Header.Get("X-Stream-Protocol-Version") != "v4.channel.k8s.io" {
			http.Error(rw, "no upgrade", http.StatusBadRequest)
			return
		}
		rw.Header().Set("X-Stream-Protocol-Version", "v4.channel.k8s.io")
		rw.Header().Set("Connection", "Upgrade")
		rw.Header().Set("Upgrade", "SPDY/3.1")
		rw.WriteHeader(http.StatusSwitchingProtocols)
		conn, both, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }() // the client has all bytes
		for {
			line, err := both.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(conn, "%s for %s\n", strings.TrimSpace(line), r.Header.Get("X-Remote-User")) // the other side sees that it is missing
		}
	})
	conn, err := tls.Dial("tcp", strings.TrimPrefix(w.gateway.URL, "https://"), &tls.Config{RootCAs: w.clients.pool(), Certificates: []tls.Certificate{w.clients.issue(t, "alice")}}) //nolint:noctx // of loopback
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the test has ended
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprint(conn, "POST /api/v1/namespaces/a/pods/b/exec?command=cat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n") // the other side sees that it is missing
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "SPDY/3.1" || resp.Header.Get("X-Stream-Protocol-Version") != "v4.channel.k8s.io" {
		t.Fatalf("%v", resp)
	}
	for i := range 3 {
		_, _ = fmt.Fprintf(conn, "hello %d\n", i) // the other side sees that it is missing
		if line, err := reader.ReadString('\n'); err != nil || line != fmt.Sprintf("hello %d for alice\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

// TestAway checks the answers while the kube-apiserver does not answer, or breaks the connection.
func TestAway(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	check := func(when, method string, code int, retryAfter string) {
		t.Helper()
		before := w.suspected.Load()
		resp, text := w.do(t, w.client(t), method, "/api/v1/namespaces/a/pods", "", "Authorization", "Bearer bob")
		var got struct {
			Kind, Reason string
			Code         int
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != code || got.Kind != "Status" || got.Code != code ||
			resp.Header.Get("Retry-After") != retryAfter || resp.Header.Get("Audit-Id") != "audited" {
			t.Errorf("%s, %s: %v %s", when, method, resp, text)
		}
		if w.suspected.Load() == before {
			t.Errorf("%s, %s: nobody looks whether the kube-apiserver is away", when, method)
		}
	}
	check("the connection breaks", "GET", 503, "5")
	check("the connection breaks", "POST", 502, "")
	check("the connection breaks", "DELETE", 502, "")
	w.kube.Close()
	check("nobody listens", "GET", 503, "5")
	check("nobody listens", "POST", 503, "5")
}

// TestMetrics checks that each forwarded request counts by the class of its answer, once.
func TestMetrics(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	for _, method := range []string{"GET", "POST", "DELETE"} {
		_, _ = w.do(t, w.client(t), method, "/api/v1/namespaces/a/pods/b/unknown", "") // only the count matters
	}
	w.kube.Close()
	_, _ = w.do(t, w.client(t), "POST", "/api/v1/namespaces/a/pods", "") // only the count matters
	got := counts(t, w.proxy.Collector())
	want := map[string]float64{"1xx": 0, "2xx": 2, "3xx": 0, "4xx": 0, "5xx": 1, "none": 1}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// counts returns the values of a counter by its only label.
func counts(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, metric := range families[0].GetMetric() {
		out[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return out
}

// TestCertificateIsVerified checks that no request is sent to a server whose certificate another authority has signed.
func TestCertificateIsVerified(t *testing.T) {
	var forwarded atomic.Int64
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { forwarded.Add(1) })
	w.gateway = w.newGateway(t, newIssuer(t, "others").pem(), nil)
	if resp, text := w.do(t, w.client(t), "GET", "/version", "", "Authorization", "Bearer bob"); resp.StatusCode != http.StatusServiceUnavailable || forwarded.Load() != 0 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if _, err := upstream.NewTransports([]byte("no certificate"), nil); err == nil {
		t.Error("a bundle without a certificate is accepted")
	}
}
