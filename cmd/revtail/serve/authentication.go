package serve

import (
	"net/http"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/config/reload"
)

// access has the sources of authentication and authorization; nil: not configured.
type access struct {
	tokens          *reload.File[*authentication.Tokens]
	issuer          *authentication.Issuer
	issuerTransport *reload.File[*http.Transport] // by --oidc-ca-file; nil: with the authorities of the system
	policy          *reload.File[*authorization.Policy]
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

// authenticator is nil if the gateway does not authenticate.
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

// startReloads watches the reloadable files and the keys of the issuer for changes.
func (p *process) startReloads() {
	for _, f := range p.reloadables() {
		p.background.Go(f.Run)
	}
	if p.access.issuer != nil {
		p.background.Go(p.access.issuer.Run)
	}
}
