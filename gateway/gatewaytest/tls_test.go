package gatewaytest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// secured is a gateway that serves HTTPS with files that the test replaces.
type secured struct {
	*gatewaytest.Gateway
	authority     *gatewaytest.Authority // of the server's certificates, and of the clients'
	cert, key, ca string                 // the files
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	dir := t.TempDir()
	s := &secured{
		authority: gatewaytest.NewAuthority(t, "authority"),
		cert:      filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"), ca: filepath.Join(dir, "ca.crt"),
	}
	s.replace(t, s.authority.Issue(t, "first"))
	replaceFile(t, s.ca, s.authority.PEM)
	policy := filepath.Join(dir, "policy.yaml")
	replaceFile(t, policy, []byte(bind("system:anonymous", "cluster-admin")+bind("alice", "cluster-admin")+bind("bob", "cluster-admin")))
	s.Gateway = gatewaytest.Start(t, "--tls-cert-file", s.cert, "--tls-private-key-file", s.key, "--client-ca-file", s.ca,
		"--anonymous", "--policy-file", policy)
	s.TLS = &tls.Config{RootCAs: s.authority.Pool()}
	return s
}

func (s *secured) replace(t *testing.T, pair gatewaytest.Pair) {
	t.Helper()
	replaceFile(t, s.cert, pair.Cert)
	replaceFile(t, s.key, pair.Key)
}

func replaceFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// served returns the name in the certificate of a new connection.
func (s *secured) served(t *testing.T) string {
	t.Helper()
	conn, err := (&tls.Dialer{Config: s.TLS}).DialContext(t.Context(), "tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

func (s *secured) address() string { return strings.TrimPrefix(s.URL, "https://") }

func (s *secured) metric(t *testing.T, name string) string {
	t.Helper()
	return s.Do(t, http.MethodGet, "/metrics", "").Metric(name)
}

// as returns the TLS configuration of a client that always sends a certificate.
func (s *secured) as(t *testing.T, pair gatewaytest.Pair) *tls.Config {
	t.Helper()
	cert := pair.TLS(t)
	return &tls.Config{
		RootCAs:              s.authority.Pool(),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil },
	}
}

// request makes a request on a new connection.
func (s *secured) request(t *testing.T, config *tls.Config) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: config}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, errors.Join(err, resp.Body.Close())
}

// wantRefused makes a handshake and sends nothing more, because unread bytes could replace the alert with a reset.
func (s *secured) wantRefused(t *testing.T, what string, config *tls.Config) {
	t.Helper()
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", s.address())
	if err == nil { // in TLS 1.3 the client has finished before the server has checked the certificate
		defer conn.Close()
		if err := conn.SetReadDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
			t.Fatal(err)
		}
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
		t.Errorf("%s: %v, want a TLS alert", what, err)
	}
}

func (s *secured) wantWelcome(t *testing.T, what string, config *tls.Config) *http.Response {
	t.Helper()
	resp, err := s.request(t, config)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %v, want 200", what, resp, err)
	}
	return resp
}

// watchHTTP2 opens a watch over HTTP/2.
func (s *secured) watchHTTP2(t *testing.T, path string) *bufio.Reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: s.TLS.Clone()}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	tooLate := time.AfterFunc(gatewaytest.Patience, cancel)
	t.Cleanup(func() { tooLate.Stop(); cancel(); resp.Body.Close() })
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Fatalf("watch %s: %s %s, want HTTP/2 200", path, resp.Proto, resp.Status)
	}
	return bufio.NewReader(resp.Body)
}

// wantNames reads events with these names.
func wantNames(t *testing.T, stream *bufio.Reader, names ...string) {
	t.Helper()
	for _, want := range names {
		line, err := stream.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the watch over HTTP/2 ended before the event of %s: %v", want, err)
		}
		var event gatewaytest.Event
		if err := json.Unmarshal(line, &event); err != nil || event.Object.Metadata.Name != want {
			t.Errorf("event %s (%v), want one of %s", line, err, want)
		}
	}
}

// TestTLSReload checks that new connections use the new files, however they are replaced, and that open streams continue.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	replacements := map[string]func(t *testing.T, s *secured, pair gatewaytest.Pair){
		"overwritten": func(t *testing.T, s *secured, pair gatewaytest.Pair) { s.replace(t, pair) },
		"links to another folder": func(t *testing.T, s *secured, pair gatewaytest.Pair) {
			dir := t.TempDir()
			for file, content := range map[string][]byte{s.cert: pair.Cert, s.key: pair.Key} {
				target := filepath.Join(dir, filepath.Base(file))
				replaceFile(t, target, content)
				if err := errors.Join(os.Symlink(target, file+".new"), os.Rename(file+".new", file)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"SIGHUP": func(t *testing.T, s *secured, pair gatewaytest.Pair) {
			s.replace(t, pair)
			s.Hangup(t)
		},
	}
	for name, replace := range replacements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSecured(t)
			one, two := s.Watch(t, configMaps+"?watch=1"), s.watchHTTP2(t, configMaps+"?watch=1")
			s.Create(t, configMaps, gatewaytest.ConfigMap("before", ""))
			wantNames(t, two, "before")
			if got := s.served(t); got != "first" {
				t.Errorf("certificate of %s, want first", got)
			}
			replace(t, s, s.authority.Issue(t, "second"))
			gatewaytest.Until(t, "the second certificate", func() bool { return s.served(t) == "second" })

			s.Create(t, configMaps, gatewaytest.ConfigMap("after", ""))
			wantNames(t, two, "after")
			s.Terminate(t)
			if events := one.Rest(t); len(events) != 2 {
				t.Errorf("the watch over HTTP/1.1 had %v, want two events and a clean end", events)
			}
			if _, err := two.ReadByte(); err != io.EOF {
				t.Errorf("the watch over HTTP/2 ends with %v, want a clean end", err)
			}
			if code := s.Exit(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
		})
	}
}

// TestTLSReloadRefusesMismatch checks that the earlier certificate stays in use, and that one line of the log has the reason.
func TestTLSReloadRefusesMismatch(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	watch := s.watchHTTP2(t, configMaps+"?watch=1")
	second := s.authority.Issue(t, "second")
	replaceFile(t, s.cert, second.Cert)
	gatewaytest.Until(t, "trouble", func() bool { return s.metric(t, "revtail_tls_last_reload_successful") == "0" })
	if got := s.served(t); got != "first" {
		t.Errorf("certificate of %s, want still first", got)
	}
	wantWarnings := func(count string, lines int) {
		t.Helper()
		gatewaytest.Until(t, "failures: "+count, func() bool { return s.metric(t, "revtail_tls_reload_failures_total") == count })
		gatewaytest.Until(t, "warnings", func() bool { return strings.Count(s.Log(t), "a file has changed but cannot be used") >= lines })
		if log := s.Log(t); strings.Count(log, "a file has changed but cannot be used") != lines || !strings.Contains(log, "--tls-private-key-file") {
			t.Errorf("want %d lines about it, which name the flag:\n%s", lines, log)
		}
	}
	wantWarnings("1", 1)
	s.Hangup(t) // a requested reload is answered
	wantWarnings("2", 2)

	replaceFile(t, s.key, second.Key)
	gatewaytest.Until(t, "the second certificate", func() bool { return s.served(t) == "second" })
	if got := s.metric(t, "revtail_tls_last_reload_successful"); got != "1" {
		t.Errorf("revtail_tls_last_reload_successful is %s, want 1", got)
	}
	s.Create(t, configMaps, gatewaytest.ConfigMap("after", ""))
	wantNames(t, watch, "after")
}

// TestClientCertificates checks that a client needs no certificate, but that one it sends must be signed by the current --client-ca-file.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	other := gatewaytest.NewAuthority(t, "other")
	alice, bob := s.authority.Issue(t, "alice"), other.Issue(t, "bob")
	for version, number := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		limited := func(config *tls.Config) *tls.Config {
			config.MinVersion, config.MaxVersion = number, number
			return config
		}
		s.wantWelcome(t, version+" without a certificate", limited(s.TLS.Clone()))
		s.wantWelcome(t, version+" with a certificate", limited(s.as(t, alice)))
		s.wantRefused(t, version+" with one of another authority", limited(s.as(t, bob)))
		s.wantRefused(t, version+" with one that has expired", limited(s.as(t, s.authority.Issue(t, "late", func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		}))))
		s.wantRefused(t, version+" with one for servers", limited(s.as(t, s.authority.Issue(t, "server", func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}))))
	}

	resuming := s.as(t, alice)
	resuming.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	s.wantWelcome(t, "first connection", resuming)
	if resp := s.wantWelcome(t, "second connection", resuming); !resp.TLS.DidResume {
		t.Error("the second connection does not resume the session of the first, so the test checks nothing")
	}
	replaceFile(t, s.ca, other.PEM)
	gatewaytest.Until(t, "the other authority", func() bool {
		_, err := s.request(t, s.as(t, bob))
		return err == nil
	})
	s.wantRefused(t, "a certificate of the authority before", s.as(t, alice))
	s.wantRefused(t, "a session of before", resuming)
	s.wantWelcome(t, "no certificate", s.TLS)
}

// TestTLSRefuses checks that only TLS 1.2 or later is accepted, and that refusals are logged at debug level only.
func TestTLSRefuses(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	for version, number := range map[string]uint16{"TLS 1.0": tls.VersionTLS10, "TLS 1.1": tls.VersionTLS11} {
		s.wantRefused(t, version, &tls.Config{RootCAs: s.authority.Pool(), MinVersion: number, MaxVersion: number})
	}
	plain := &gatewaytest.Gateway{URL: "http://" + s.address()}
	answer := exchange(t, plain, "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.0 400 Bad Request\r\n") || !strings.Contains(answer, "Client sent an HTTP request to an HTTPS server") {
		t.Errorf("plain HTTP is answered with %q, want a 400 that says why", answer)
	}

	gatewaytest.Until(t, "the refusals in the log", func() bool { return strings.Count(s.Log(t), "http: TLS handshake error") >= 3 })
	for line := range strings.Lines(s.Log(t)) {
		if strings.Contains(line, "http: TLS handshake error") && !strings.Contains(line, `"level":"DEBUG"`) {
			t.Errorf("the log has %s, want that at debug level", line)
		}
	}
}

// TestSlowHandshakesAreCut checks that a client that stops is disconnected, at each step before a request.
func TestSlowHandshakesAreCut(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	speaking := func(protocol string) *tls.Dialer {
		config := s.TLS.Clone()
		config.NextProtos = []string{protocol}
		return &tls.Dialer{Config: config}
	}
	tests := map[string]struct {
		dialer interface {
			DialContext(ctx context.Context, network, address string) (net.Conn, error)
		}
		sends string
	}{
		"nothing":              {new(net.Dialer), ""},
		"half of a handshake":  {new(net.Dialer), "\x16\x03\x01\x02\x00\x01\x00"},
		"no request":           {speaking("http/1.1"), ""},
		"half of a request":    {speaking("http/1.1"), "GET /version HTTP/1.1\r\nHost:"},
		"no preface of HTTP/2": {speaking("h2"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := test.dialer.DialContext(t.Context(), "tcp", s.address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, test.sends); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection is still open after %v", gatewaytest.Patience)
			}
		})
	}
}
