package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"revtail/gateway/access/authentication"
	"revtail/gateway/config"
	"revtail/gateway/config/reload"
)

// issuerIdleTimeout closes idle connections to the issuer, because its keys are requested every five minutes only, and the file of
// authorities may have changed by then.
const issuerIdleTimeout = 10 * time.Second

// openIssuer makes the verifier of the signed tokens of --oidc-issuer-url.
func (p *process) openIssuer() (err error) {
	c := authentication.IssuerConfig{
		URL: p.cfg.OIDCIssuerURL, Audience: p.cfg.OIDCClientID,
		UserClaim: p.cfg.OIDCUsernameClaim, UserPrefix: userPrefix(p.cfg),
		GroupsClaim: p.cfg.OIDCGroupsClaim, GroupsPrefix: p.cfg.OIDCGroupsPrefix,
		Client: &http.Client{},
	}
	if file := p.cfg.OIDCCAFile; file != "" {
		if p.access.issuerTransport, err = reload.Open("--oidc-ca-file", file, newTransport, p.logger); err != nil {
			return err
		}
		c.Client.Transport = reloadingTransport{p.access.issuerTransport}
	}
	p.access.issuer = authentication.NewIssuer(c, p.logger)
	return nil
}

// newTransport makes a transport that trusts the authorities of a PEM bundle.
func newTransport(bundle []byte) (*http.Transport, error) {
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(bundle) {
		return nil, errors.New("no certificate in this file")
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		IdleConnTimeout: issuerIdleTimeout,
	}, nil
}

// reloadingTransport sends each request through the current transport.
type reloadingTransport struct{ current *reload.File[*http.Transport] }

// RoundTrip implements http.RoundTripper.
func (r reloadingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.current.Get().RoundTrip(req)
}

// userPrefix has the default of kube-apiserver, which keeps the users of an issuer apart from all others.
func userPrefix(c config.Config) string {
	switch {
	case c.OIDCUsernamePrefix == "-":
		return ""
	case c.OIDCUsernamePrefix == "" && c.OIDCUsernameClaim != "email":
		return c.OIDCIssuerURL + "#"
	}
	return c.OIDCUsernamePrefix
}
