package main

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

// issuerIdle is how long a connection to the issuer is kept without use. Its keys are asked for every five minutes, and the
// authorities that it was checked with may have been replaced by then.
const issuerIdle = 10 * time.Second

func (p *process) openIssuer() (err error) {
	c := authentication.IssuerConfig{
		URL: p.cfg.OIDCIssuerURL, Audience: p.cfg.OIDCClientID,
		UserClaim: p.cfg.OIDCUsernameClaim, UserPrefix: userPrefix(p.cfg),
		GroupsClaim: p.cfg.OIDCGroupsClaim, GroupsPrefix: p.cfg.OIDCGroupsPrefix,
		Client: &http.Client{},
	}
	if file := p.cfg.OIDCCAFile; file != "" {
		if p.access.road, err = reload.Open("--oidc-ca-file", file, parseRoad, p.logger); err != nil {
			return err
		}
		c.Client.Transport = renewed{p.access.road}
	}
	p.access.issuer = authentication.NewIssuer(c, p.logger)
	return nil
}

// parseRoad makes of a bundle of authorities the way to a server that they vouch for.
func parseRoad(bundle []byte) (*http.Transport, error) {
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(bundle) {
		return nil, errors.New("no certificate in this file")
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		IdleConnTimeout: issuerIdle,
	}, nil
}

// renewed takes each request the way of this moment.
type renewed struct{ road *reload.File[*http.Transport] }

// RoundTrip implements http.RoundTripper.
func (r renewed) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.road.Get().RoundTrip(req)
}

// userPrefix is kube-apiserver's: users of one issuer cannot be taken for those of another, or for anybody else.
func userPrefix(c config.Config) string {
	switch {
	case c.OIDCUsernamePrefix == "-":
		return ""
	case c.OIDCUsernamePrefix == "" && c.OIDCUsernameClaim != "email":
		return c.OIDCIssuerURL + "#"
	}
	return c.OIDCUsernamePrefix
}
