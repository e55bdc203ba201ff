package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/config/reload"
)

// access is what says who may do what, as far as there is something.
type access struct {
	tokens *reload.File[*authentication.Tokens]
	issuer *authentication.Issuer
	road   *reload.File[*http.Transport] // to the issuer, by --oidc-ca-file; nil: the one of the system's authorities
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
		err = p.openIssuer()
	}
	return err
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
	if p.etcdPassword != nil {
		files = append(files, p.etcdPassword)
	}
	if p.access.road != nil {
		files = append(files, p.access.road)
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
