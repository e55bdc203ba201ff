package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// dialTimeout limits the time of a new connection, and of its TLS handshake.
	dialTimeout = 5 * time.Second
	// idleTimeout closes idle connections. It is shorter than that of a kube-apiserver, so that it rarely closes one that is just used again.
	idleTimeout = 90 * time.Second
	// maxIdle is how many idle connections of HTTP/1.1, which upgrades have used, are kept.
	maxIdle = 100
	// pingAfter is how long a connection of HTTP/2 may be silent before its other end is asked for a sign of life, which it has pingTimeout for.
	pingAfter, pingTimeout = 15 * time.Second, 10 * time.Second
)

// Transports send requests to one kube-apiserver. Requests with the front-proxy headers have connections of their own: those with the front-proxy
// certificate are used for nothing else, because a kube-apiserver may take the certificate itself for that of a user.
type Transports struct {
	client     pair // of clients with a token, or without a credential
	frontProxy pair // of clients with a certificate
	has        bool // there is a front-proxy certificate

	mu       sync.Mutex // held during the check of the front-proxy certificate; guards the field below
	accepted bool       // the kube-apiserver accepts the front-proxy certificate
}

// pair has a transport for usual requests, by HTTP/2, and one for those that upgrade the connection, which only HTTP/1.1 can.
type pair struct{ usual, upgrade *http.Transport }

// NewTransports returns transports that trust the authorities of a PEM bundle; empty: those of the system. certificate is the front-proxy one; nil:
// there is none.
func NewTransports(bundle []byte, certificate *tls.Certificate) (*Transports, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(bundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(bundle) {
			return nil, errors.New("no certificate in this file")
		}
	}
	t := &Transports{client: newPair(config)}
	if certificate != nil {
		own := config.Clone()
		own.Certificates = []tls.Certificate{*certificate}
		t.frontProxy, t.has = newPair(own), true
	}
	return t, nil
}

func newPair(config *tls.Config) pair {
	var both, old http.Protocols
	both.SetHTTP1(true)
	both.SetHTTP2(true)
	old.SetHTTP1(true)
	return pair{usual: newTransport(config, &both), upgrade: newTransport(config, &old)}
}

// newTransport returns a transport without compression of its own: clients negotiate with the kube-apiserver.
func newTransport(config *tls.Config, protocols *http.Protocols) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig: config.Clone(), TLSHandshakeTimeout: dialTimeout, Protocols: protocols, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: maxIdle,
		DisableCompression: true, HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// of returns the transport for a request.
func (t *Transports) of(byCertificate, upgrade bool) *http.Transport {
	chosen := t.client
	if byCertificate {
		chosen = t.frontProxy
	}
	if upgrade {
		return chosen.upgrade
	}
	return chosen.usual
}
