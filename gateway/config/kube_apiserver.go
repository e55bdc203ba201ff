package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// hasKubeAPIServer reports whether a kube-apiserver decides about requests.
func (c Config) hasKubeAPIServer() bool { return c.KubeAPIServer != "" }

func (c Config) validateKubeAPIServer() error {
	if !c.hasKubeAPIServer() {
		return nil
	}
	var errs []error
	u, err := url.Parse(c.KubeAPIServer)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery+u.Fragment != "" {
		errs = append(errs, errors.New("--kube-apiserver: want an https:// URL without a user and a query, as https://127.0.0.1:6443: tokens of clients go there"))
	}
	if !c.Cluster {
		errs = append(errs, errors.New("--kube-apiserver needs --cluster and the --etcd-endpoints of that kube-apiserver: revtail answers its reads"))
	}
	if (c.ProxyClientCertFile == "") != (c.ProxyClientKeyFile == "") {
		errs = append(errs, errors.New("--proxy-client-cert-file and --proxy-client-key-file go together: give both or none"))
	}
	if c.ClientCAFile != "" && c.ProxyClientCertFile == "" {
		errs = append(errs, errors.New("--client-ca-file with --kube-apiserver needs --proxy-client-cert-file and --proxy-client-key-file: "+
			"a client's certificate cannot be forwarded, so that its user is named by a front proxy"))
	}
	return errors.Join(append(errs, c.validateForwarded())...)
}

// validateForwarded refuses names that are none of a resource. Whether there is such a resource is checked at the start.
func (c Config) validateForwarded() error {
	var errs []error
	for _, name := range c.ForwardResources {
		plural, group, hasGroup := strings.Cut(name, ".")
		if plural == "" || hasGroup && group == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "*/# ") || strings.HasPrefix(name, "-") {
			errs = append(errs, fmt.Errorf("--forward-resources %q: want plurals with their groups, comma separated, as events,leases.coordination.k8s.io", name))
		}
	}
	return errors.Join(errs...)
}
