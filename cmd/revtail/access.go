package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/authentication"
	"revtail/gateway/authorization"
	"revtail/gateway/config"
	"revtail/gateway/reload"
)

// access is what says who may do what, as far as there is something.
type access struct {
	tokens *reload.File[*authentication.Tokens]
	issuer *authentication.Issuer
	policy *reload.File[*authorization.Policy]
}

// openAccess reads the files of authentication and authorization.
func (p *process) openAccess() (err error) {
	if p.cfg.TokenFile != "" {
		if p.access.tokens, err = reload.Open("--token-file", p.cfg.TokenFile, authentication.ParseTokens, p.logger); err != nil {
			return err
		}
	}
	if p.cfg.PolicyFile != "" {
		if p.access.policy, err = reload.Open("--policy-file", p.cfg.PolicyFile, authorization.Parse, p.logger); err != nil {
			return err
		}
	}
	if p.cfg.OIDCIssuerURL != "" {
		p.access.issuer, err = p.openIssuer()
	}
	return err
}

func (p *process) openIssuer() (*authentication.Issuer, error) {
	c := authentication.IssuerConfig{
		URL: p.cfg.OIDCIssuerURL, Audience: p.cfg.OIDCClientID,
		UserClaim: p.cfg.OIDCUsernameClaim, UserPrefix: userPrefix(p.cfg),
		GroupsClaim: p.cfg.OIDCGroupsClaim, GroupsPrefix: p.cfg.OIDCGroupsPrefix,
		Client: &http.Client{},
	}
	if file := p.cfg.OIDCCAFile; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		authorities := x509.NewCertPool()
		if !authorities.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--oidc-ca-file %s: no certificate in this file", file)
		}
		c.Client.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		}
	}
	return authentication.NewIssuer(c, p.logger), nil
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

// authenticator is nil when nobody is asked who they are.
func (p *process) authenticator() *authentication.Authenticator {
	if !p.cfg.Authenticates() && p.cfg.PolicyFile == "" {
		return nil
	}
	sources := authentication.Sources{Tokens: p.access.tokens, Issuer: p.access.issuer, Anonymous: p.cfg.LetsAnybodyIn()}
	if p.cfg.ClientCAFile != "" {
		sources.Authorities = p.certificates
	}
	return authentication.New(sources)
}

// startAccess keeps up with what changes.
func (p *process) startAccess() {
	for _, f := range p.files() {
		p.background.Go(f.Run)
	}
	if p.access.issuer != nil {
		p.background.Go(p.access.issuer.Run)
	}
}

// file is one that may change while the gateway runs.
type file interface {
	prometheus.Collector
	Run(ctx context.Context) error
	Reload()
}

// files are those that there are.
func (p *process) files() []file {
	var files []file
	if p.certificates != nil {
		files = append(files, p.certificates)
	}
	if p.etcdTLS != nil {
		files = append(files, p.etcdTLS)
	}
	if p.access.tokens != nil {
		files = append(files, p.access.tokens)
	}
	if p.access.policy != nil {
		files = append(files, p.access.policy)
	}
	if p.audit != nil {
		files = append(files, p.audit)
	}
	if p.file != nil {
		files = append(files, p.file)
	}
	return files
}
