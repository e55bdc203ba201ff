package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	gatewayaccess "revtail/gateway/access"
	"revtail/gateway/access/delegated"
	"revtail/gateway/api/upstream"
	"revtail/gateway/config/reload"
)

// kubeAPIServer is the kube-apiserver that decides about requests, and answers those that the gateway does not.
type kubeAPIServer struct {
	availability *delegated.Availability
	delegate     *delegated.Delegate
	proxy        *upstream.Proxy
	connections  func() *connections // the current ones
	forwarded    []schema.GroupResource
}

// connections are what requests to the kube-apiserver are sent with.
type connections struct {
	clients    *delegated.Clients   // with the identity of this server
	transports *upstream.Transports // with the identities of clients
}

// openKubeAPIServer reads the files of the kube-apiserver, if there is one.
func (p *process) openKubeAPIServer() error {
	if p.cfg.KubeAPIServer == "" {
		return nil
	}
	target, err := url.Parse(p.cfg.KubeAPIServer)
	if err != nil {
		return err
	}
	k := &kubeAPIServer{availability: delegated.NewAvailability(p.cfg.KubeAPIServer, p.logger)}
	if k.forwarded, err = forwardedResources(p.cfg.ForwardResources); err != nil {
		return err
	}
	if k.connections, err = p.openConnections(); err != nil {
		return err
	}
	k.delegate = delegated.New(k.clients, k.availability, p.logger)
	k.proxy = upstream.New(upstream.Config{
		URL: target, Transports: func() *upstream.Transports { return k.connections().transports }, Suspect: k.availability.Suspect, Logger: p.logger,
	})
	p.kubeAPIServer = k
	return nil
}

// openConnections returns the connections, which follow changes of their files.
func (p *process) openConnections() (func() *connections, error) {
	var sources []reload.Source
	for _, s := range []reload.Source{
		{Flag: "--kube-apiserver-ca-file", Path: p.cfg.KubeAPIServerCAFile}, {Flag: "--authentication-kubeconfig", Path: p.cfg.AuthenticationKubeconfig},
		{Flag: "--proxy-client-cert-file", Path: p.cfg.ProxyClientCertFile}, {Flag: "--proxy-client-key-file", Path: p.cfg.ProxyClientKeyFile},
	} {
		if s.Path != "" {
			sources = append(sources, s)
		}
	}
	parse := func(contents [][]byte) (*connections, error) {
		of := make(map[string][]byte)
		for i, content := range contents {
			of[sources[i].Flag] = content
		}
		return p.connect(of)
	}
	if len(sources) == 0 {
		fixed, err := parse(nil)
		return func() *connections { return fixed }, err
	}
	file, err := reload.OpenTogether(sources, parse, p.logger)
	if err != nil {
		return nil, err
	}
	p.reloadables = append(p.reloadables, file)
	return file.Get, nil
}

// connect returns the connections with the contents of the files of flags. Requests of clients trust the same authorities as those of this server.
func (p *process) connect(of map[string][]byte) (*connections, error) {
	config, err := p.identity(of)
	if err != nil {
		return nil, err
	}
	loaded := rest.CopyConfig(config) // the clients follow the files that their own configuration names
	if err = rest.LoadTLSFiles(loaded); err != nil {
		return nil, err
	}
	var certificate *tls.Certificate
	if p.cfg.ProxyClientCertFile != "" {
		own, failed := tls.X509KeyPair(of["--proxy-client-cert-file"], of["--proxy-client-key-file"])
		if failed != nil {
			return nil, fmt.Errorf("--proxy-client-cert-file %s and --proxy-client-key-file %s: %w", p.cfg.ProxyClientCertFile, p.cfg.ProxyClientKeyFile, failed)
		}
		certificate = &own
	}
	made := &connections{}
	if made.transports, err = upstream.NewTransports(loaded.CAData, certificate); err != nil {
		return nil, fmt.Errorf("the authorities of the kube-apiserver, of --kube-apiserver-ca-file or --authentication-kubeconfig: %w", err)
	}
	made.clients, err = delegated.NewClients(config)
	return made, err
}

// identity returns the configuration of clients with the identity of this server.
func (p *process) identity(of map[string][]byte) (*rest.Config, error) {
	authorities, path := of["--kube-apiserver-ca-file"], p.cfg.AuthenticationKubeconfig
	if path == "" {
		config, err := delegated.InCluster(p.cfg.KubeAPIServer, authorities)
		if err != nil {
			return nil, fmt.Errorf("--authentication-kubeconfig is not given, and there is no service account of a Pod: %w", err)
		}
		return config, nil
	}
	config, err := delegated.ParseKubeconfig(of["--authentication-kubeconfig"], path, p.cfg.KubeAPIServer, authorities)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig %s: %w", path, err)
	}
	return config, nil
}

func (k *kubeAPIServer) clients() *delegated.Clients { return k.connections().clients }

// decides returns what decides about requests instead of a policy; nil: nothing does.
func (k *kubeAPIServer) decides() gatewayaccess.Delegate {
	if k == nil {
		return nil
	}
	return k.delegate
}

// forwards returns what answers the requests that the gateway does not; nil: the gateway answers all.
func (k *kubeAPIServer) forwards() *upstream.Proxy {
	if k == nil {
		return nil
	}
	return k.proxy
}

// forwardsReads returns the resources whose reads the kube-apiserver answers too.
func (k *kubeAPIServer) forwardsReads() []schema.GroupResource {
	if k == nil {
		return nil
	}
	return k.forwarded
}

// problems returns the problems of the kube-apiserver; nil: there is none.
func (k *kubeAPIServer) problems() func() []string {
	if k == nil {
		return nil
	}
	return k.availability.Problems
}

// collectors returns the metrics of the kube-apiserver.
func (k *kubeAPIServer) collectors() []prometheus.Collector {
	return []prometheus.Collector{k.availability.Collector(), k.delegate, k.proxy.Collector()}
}

// run probes the kube-apiserver until ctx ends.
func (k *kubeAPIServer) run(ctx context.Context) error { return k.availability.Run(ctx, k.clients) }

// drain ends the long-running requests that are forwarded.
func (k *kubeAPIServer) drain() {
	if k != nil {
		k.proxy.Drain()
	}
}
