package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"revtail/gateway/access/delegated"
	"revtail/gateway/api/upstream"
)

// checkKubeAPIServer checks that the kube-apiserver of --kube-apiserver answers, and what revtail may do there.
func (d *doctor) checkKubeAPIServer(ctx context.Context) {
	if d.cfg.KubeAPIServer == "" {
		return
	}
	config, err := d.identity()
	if err != nil {
		d.report(failed, "kube", err.Error(), "")
		return
	}
	clients, err := delegated.NewClients(config)
	if err != nil {
		d.report(failed, "kube", err.Error(), "")
		return
	}
	start := time.Now()
	if _, err := clients.Probe(ctx); err != nil {
		d.report(failed, "kube", fmt.Sprintf("%s: %v", d.cfg.KubeAPIServer, err),
			"check that it runs, and that --kube-apiserver-ca-file has the authority of its certificate; without it revtail answers reads for five minutes")
		return
	}
	d.report(ok, "kube", fmt.Sprintf("%s is ready (%v)", d.cfg.KubeAPIServer, elapsed(start)), "")
	if err := clients.CheckRights(ctx); err != nil {
		d.report(failed, "delegates", err.Error(), "bind the ClusterRole system:auth-delegator to the user of --authentication-kubeconfig: all requests are 503 until then")
	} else {
		d.report(ok, "delegates", "revtail may create TokenReviews and SubjectAccessReviews", "")
	}
	d.checkFrontProxy(ctx, config)
}

// identity returns the configuration of clients with the identity of revtail.
func (d *doctor) identity() (*rest.Config, error) {
	bundle, err := readIfGiven("--kube-apiserver-ca-file", d.cfg.KubeAPIServerCAFile)
	if err != nil {
		return nil, err
	}
	path := d.cfg.AuthenticationKubeconfig
	content, err := readIfGiven("--authentication-kubeconfig", path)
	switch {
	case err != nil:
		return nil, err
	case path != "":
		return parseKubeconfig(content, path, d.cfg.KubeAPIServer, bundle)
	}
	config, err := delegated.InCluster(d.cfg.KubeAPIServer, bundle)
	if err != nil {
		return nil, fmt.Errorf("give --authentication-kubeconfig: %w", err)
	}
	return config, nil
}

func parseKubeconfig(content []byte, path, server string, bundle []byte) (*rest.Config, error) {
	config, err := delegated.ParseKubeconfig(content, path, server, bundle)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig %s: %w", path, err)
	}
	return config, nil
}

// checkFrontProxy checks whether the kube-apiserver takes the user of a request from the front-proxy headers of revtail.
func (d *doctor) checkFrontProxy(ctx context.Context, config *rest.Config) {
	if d.cfg.ProxyClientCertFile == "" {
		d.report(skipped, "proxy", "without --proxy-client-cert-file, clients with certificates cannot use revtail", "")
		return
	}
	loaded := rest.CopyConfig(config)
	certificate, err := tls.LoadX509KeyPair(d.cfg.ProxyClientCertFile, d.cfg.ProxyClientKeyFile)
	err = errors.Join(err, rest.LoadTLSFiles(loaded))
	var transports *upstream.Transports
	if err == nil {
		transports, err = upstream.NewTransports(loaded.CAData, &certificate)
	}
	var target *url.URL
	if err == nil {
		target, err = url.Parse(d.cfg.KubeAPIServer)
	}
	if err == nil {
		err = transports.CheckFrontProxy(ctx, target)
	}
	if err != nil {
		d.report(failed, "proxy", err.Error(), "check --proxy-client-cert-file and --proxy-client-key-file: requests that revtail forwards for clients with certificates are 501")
		return
	}
	d.report(ok, "proxy", "the kube-apiserver accepts the front-proxy certificate", "")
}

func readIfGiven(flag, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return content, nil
}

// expiresSoon is the time before the expiry of a certificate from which on doctor warns.
const expiresSoon = 7 * 24 * time.Hour

// checkCertificates reports when the client certificates in files expire.
func (d *doctor) checkCertificates() {
	for _, file := range []struct{ flag, path string }{
		{"--etcd-cert", d.cfg.EtcdCert}, {"--proxy-client-cert-file", d.cfg.ProxyClientCertFile},
	} {
		if content, err := readIfGiven(file.flag, file.path); err == nil && content != nil { // other checks report the error
			d.checkExpiry(file.flag, content)
		}
	}
	if d.cfg.AuthenticationKubeconfig == "" || d.cfg.KubeAPIServer == "" {
		return
	}
	if config, err := d.identity(); err == nil && rest.LoadTLSFiles(config) == nil && len(config.CertData) > 0 {
		d.checkExpiry("--authentication-kubeconfig", config.CertData)
	}
}

// checkExpiry reports when the first certificate of a PEM bundle expires.
func (d *doctor) checkExpiry(flag string, bundle []byte) {
	block, _ := pem.Decode(bundle)
	if block == nil {
		d.report(failed, "expiry", flag+": no certificate in this file", "")
		return
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		d.report(failed, "expiry", flag+": "+err.Error(), "")
		return
	}
	result := fmt.Sprintf("the certificate of %s is valid until %s", flag, certificate.NotAfter.UTC().Format(time.DateTime))
	switch left := time.Until(certificate.NotAfter); {
	case left < 0:
		d.report(failed, "expiry", fmt.Sprintf("the certificate of %s has expired, at %s", flag, certificate.NotAfter.UTC().Format(time.DateTime)), "renew it; revtail reads the file again when it changes")
	case left < expiresSoon:
		d.report(warning, "expiry", result, "renew it; revtail reads the file again when it changes")
	default:
		d.report(ok, "expiry", result, "")
	}
}
