package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/access/certificate"
	"revtail/gateway/access/serviceaccount"
	"revtail/gateway/config"
	"revtail/gateway/config/reload"
)

// access has the sources of authentication and authorization; nil: not configured.
type access struct {
	tokens *reload.File[*authentication.Tokens]
	issuer *authentication.Issuer
	policy *reload.File[*authorization.Policy]

	serviceAccounts *serviceaccount.Issuer
}

// openAccess reads the files of authentication and authorization.
func (p *process) openAccess() (err error) {
	if p.access.tokens, err = openFile(p, "--token-file", p.cfg.TokenFile, authentication.ParseTokens); err != nil {
		return err
	}
	if p.access.policy, err = openFile(p, "--policy-file", p.cfg.PolicyFile, authorization.Parse); err != nil {
		return err
	}
	if p.cfg.OIDCIssuerURL != "" {
		if err = p.openIssuer(); err != nil {
			return err
		}
	}
	return p.openServiceAccounts()
}

// openServiceAccounts reads the keys of the tokens of service accounts, if there are any.
func (p *process) openServiceAccounts() error {
	if len(p.cfg.ServiceAccountIssuer) == 0 {
		return nil
	}
	var sources []reload.Source
	signs := p.cfg.ServiceAccountSigningKeyFile != ""
	if signs {
		sources = append(sources, reload.Source{Flag: "--service-account-signing-key-file", Path: p.cfg.ServiceAccountSigningKeyFile})
	}
	for _, path := range p.cfg.ServiceAccountKeyFile {
		sources = append(sources, reload.Source{Flag: "--service-account-key-file", Path: path})
	}
	keys, err := reload.OpenTogether(sources, func(contents [][]byte) (*serviceaccount.Keys, error) {
		if signs {
			return serviceaccount.ParseKeys(contents[0], contents[1:]...)
		}
		return serviceaccount.ParseKeys(nil, contents...)
	}, p.logger)
	if err != nil {
		return err
	}
	p.reloadables = append(p.reloadables, keys)
	p.access.serviceAccounts = serviceaccount.New(serviceaccount.Config{
		Issuers: p.cfg.ServiceAccountIssuer, Audiences: p.cfg.Audiences(), MaxExpiration: p.cfg.ServiceAccountMaxTokenExpiration, Keys: keys,
	})
	return nil
}

// authenticator is nil if the gateway does not authenticate.
func (p *process) authenticator() *authentication.Authenticator {
	if !p.cfg.Authenticates() && p.cfg.PolicyFile == "" && p.access.serviceAccounts == nil {
		return nil
	}
	sources := authentication.Sources{Tokens: p.access.tokens, Issuer: p.access.issuer, Audiences: p.cfg.Audiences(), Anonymous: p.cfg.LetsAnybodyIn()}
	if p.kubeAPIServer != nil {
		sources.Reviewer = p.kubeAPIServer.delegate
	}
	if p.access.serviceAccounts != nil {
		sources.ServiceAccounts = p.access.serviceAccounts
	}
	if p.cfg.ClientCAFile != "" {
		sources.Authorities = p.certificates
	}
	return authentication.New(sources)
}

// issuerIdleTimeout closes idle connections to the issuer, because its keys are requested every five minutes only, and the file of
// authorities may have changed by then.
const issuerIdleTimeout = 10 * time.Second

// openIssuer makes the verifier of the signed tokens of --oidc-issuer-url.
func (p *process) openIssuer() error {
	c := authentication.IssuerConfig{
		URL: p.cfg.OIDCIssuerURL, Audience: p.cfg.OIDCClientID,
		UserClaim: p.cfg.OIDCUsernameClaim, UserPrefix: userPrefix(p.cfg),
		GroupsClaim: p.cfg.OIDCGroupsClaim, GroupsPrefix: p.cfg.OIDCGroupsPrefix,
		Client: &http.Client{},
	}
	transport, err := openFile(p, "--oidc-ca-file", p.cfg.OIDCCAFile, newTransport)
	if err != nil {
		return err
	}
	if transport != nil {
		c.Client.Transport = reloadingTransport{transport}
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

// openCertificates reads the files of TLS, if they are configured.
func (p *process) openCertificates() (err error) {
	if !p.cfg.TLS() {
		return nil
	}
	p.certificates, err = certificate.Open(certificate.Files{
		Certificate: p.cfg.TLSCertFile, Key: p.cfg.TLSPrivateKeyFile, ClientCA: p.cfg.ClientCAFile,
	}, p.logger)
	if err == nil {
		p.tls, p.reloadables = p.certificates.Config(), append(p.reloadables, p.certificates)
	}
	return err
}

// openCredentials reads the files of TLS and of the password for etcd, if they are configured.
func (p *process) openCredentials() (err error) {
	if p.cfg.External() {
		if p.etcdTLS, err = p.cfg.OpenEtcdTLS(p.logger); err != nil {
			return err
		}
	}
	if p.etcdTLS != nil {
		p.reloadables = append(p.reloadables, p.etcdTLS)
	}
	if p.etcdPassword, err = p.cfg.OpenEtcdPassword(p.logger); p.etcdPassword != nil {
		p.reloadables = append(p.reloadables, p.etcdPassword)
	}
	return err
}
