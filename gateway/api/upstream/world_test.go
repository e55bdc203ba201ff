package upstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/api/upstream"
	"revtail/gateway/http/response"
)

// issuer signs the certificates of a test.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newIssuer(t *testing.T, name string) *issuer {
	t.Helper()
	i := &issuer{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, i.key.Public(), i.key)
	if err == nil {
		i.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *issuer) issue(t *testing.T, name string, groups ...string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: groups}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, key.Public(), i.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (i *issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})
}

func (i *issuer) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.cert)
	return pool
}

// Generation and VerifyClient make an issuer the authority of a gateway's clients.
func (i *issuer) Generation() uint64 { return 0 }

func (i *issuer) VerifyClient(chain []*x509.Certificate) error {
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: i.pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// people reviews tokens: each token but "bad" is the name of its user. Its rights are those of everybody, or of nobody.
type people struct{ forbids atomic.Bool }

func (*people) ReviewToken(_ context.Context, token string) (*authentication.Identity, error) {
	if token == "bad" {
		return nil, authentication.ErrRefused
	}
	return &authentication.Identity{Name: token, Groups: []string{authentication.AuthenticatedAll}}, nil
}

func (p *people) Authorize(identity *authentication.Identity, about authorization.Attributes) error {
	if p.forbids.Load() {
		return about.Forbidden(identity.Name)
	}
	return nil
}

func (p *people) Kept(*authentication.Identity, authorization.Attributes) bool {
	return !p.forbids.Load()
}

// world is a kube-apiserver, a gateway that forwards everything to it, and the authorities of both.
type world struct {
	kube, gateway      *httptest.Server
	clients, proxies   *issuer
	people             *people
	proxy              *upstream.Proxy // of the newest gateway
	suspected          atomic.Int64
	takesCertificateAs string // whom the kube-apiserver takes a request for whose headers it does not believe; empty: it believes them
}

// newWorld starts both servers. serve answers what is no SelfSubjectReview.
func newWorld(t *testing.T, serve http.HandlerFunc) *world {
	t.Helper()
	w := &world{clients: newIssuer(t, "clients"), proxies: newIssuer(t, "proxies"), people: new(people)}
	servers := newIssuer(t, "servers")
	w.kube = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Audit-Id", r.Header.Get("Audit-Id"))
		if r.URL.Path != "/apis/authentication.k8s.io/v1/selfsubjectreviews" {
			serve(rw, r)
			return
		}
		name := r.Header.Get("X-Remote-User")
		if w.takesCertificateAs != "" {
			name = w.takesCertificateAs
		}
		rw.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(rw, `{"kind":"SelfSubjectReview","status":{"userInfo":{"username":%q}}}`, name) // the other side sees that it is missing
	}))
	w.kube.EnableHTTP2 = true
	w.kube.TLS = &tls.Config{Certificates: []tls.Certificate{servers.issue(t, "kube")}, ClientAuth: tls.RequestClientCert}
	w.kube.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.kube.StartTLS()
	t.Cleanup(w.kube.Close)
	frontProxy := w.proxies.issue(t, "front-proxy-client")
	w.gateway = w.newGateway(t, servers.pem(), &frontProxy)
	return w
}

// newGateway starts a gateway that trusts the authorities of a bundle.
func (w *world) newGateway(t *testing.T, bundle []byte, frontProxy *tls.Certificate) *httptest.Server {
	t.Helper()
	target, err := url.Parse(w.kube.URL)
	if err != nil {
		t.Fatal(err)
	}
	transports, err := upstream.NewTransports(bundle, frontProxy)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	proxy := upstream.New(upstream.Config{
		URL: target, Transports: func() *upstream.Transports { return transports }, Suspect: func() { w.suspected.Add(1) }, Logger: logger,
	})
	w.proxy = proxy
	proxy.AuthorizeBy(w.people.Authorize)
	authenticator := authentication.New(authentication.Sources{Authorities: w.clients, Reviewer: w.people})
	control := access.NewControl(response.NewResponder(logger), logger, authenticator, nil, w.people, nil)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Audit-Id", "audited")
		control.Identify(proxy).ServeHTTP(rw, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{w.clients.issue(t, "gateway")}, ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// client returns a client of a gateway, with a certificate if there is one. It follows no redirects.
func (w *world) client(t *testing.T, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.clients.pool(), Certificates: certificates}, DisableKeepAlives: true, DisableCompression: true}
	return &http.Client{Transport: transport, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do sends a request to the gateway and reads the answer.
func (w *world) do(t *testing.T, client *http.Client, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.gateway.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// echo answers with what it has got.
type echoed struct {
	Method, URI, Body, Certificate string
	Header                         http.Header
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a test sees that it is incomplete
	e := echoed{Method: r.Method, URI: r.RequestURI, Body: string(body), Header: r.Header}
	if len(r.TLS.PeerCertificates) > 0 {
		e.Certificate = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	_ = json.NewEncoder(w).Encode(e) // the client sees that it is incomplete
}
