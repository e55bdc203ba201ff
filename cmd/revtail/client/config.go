package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"revtail/gateway/config"
)

// Config names gateways and the credentials for them. With Kubeconfig or Context, the other fields override what the kubeconfig has.
type Config struct {
	Servers    []string // URLs of gateways of one etcd, or unix:///path of their sockets: a request goes to the next when one does not answer
	CACert     string   // file of the authorities that sign the gateways' certificates; empty: the system's
	Cert, Key  string   // files of the client certificate; empty: none
	TokenFile  string   // file of a bearer token, read again for each request; empty: none
	Kubeconfig string   // file; empty: none, unless there is a Context
	Context    string   // of the kubeconfig; empty: its current one
	Namespace  string   // of the objects; empty: that of the context, else default

	// Dial connects to a gateway in this process, whatever its URL; nil: a connection of the network.
	Dial func(context.Context) (net.Conn, error)

	ServerFlag string // the flag of Servers, for errors; default --server
	NoProxy    bool   // ignores HTTP_PROXY and the like

	servers *pflag.Flag // of Servers: a default value does not override a kubeconfig. nil: Servers is given
}

// AddFlags defines a flag for each field except Namespace.
func (c *Config) AddFlags(flags *pflag.FlagSet) {
	servers := []string{"http://127.0.0.1:8080"}
	if env := os.Getenv(config.EnvServer); env != "" {
		servers = strings.Split(env, ",")
	}
	flags.StringSliceVar(&c.Servers, "server", servers, "comma-separated `URLs` of gateways of one etcd, or unix:///path of their sockets: a request goes to the next when one does not answer ("+config.EnvServer+")")
	flags.StringVar(&c.CACert, "cacert", "", "PEM `file` of the authorities that sign the gateways' certificates; none: those of the system; without --token-file any certificate on loopback")
	flags.StringVar(&c.Cert, "cert", "", "PEM `file` of a client certificate")
	flags.StringVar(&c.Key, "key", "", "PEM `file` of the key of that certificate")
	flags.StringVar(&c.TokenFile, "token-file", "", "`file` that contains a bearer token")
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig `file` with the server, credentials and namespace; the flags above override it; none: no kubeconfig is read, unless --context is given")
	flags.StringVar(&c.Context, "context", "", "`name` of a context of --kubeconfig, or else of KUBECONFIG or ~/.kube/config; none: the current context of --kubeconfig")
	config.GroupFlags(flags, "Gateway", "server", "cacert", "cert", "key", "token-file", "kubeconfig", "context")
	c.servers = flags.Lookup("server")
}

// AddNamespaceFlag defines the flag of Namespace.
func (c *Config) AddNamespaceFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&c.Namespace, "namespace", "n", "", "`namespace` of the objects; none: that of the context, or default")
}

// serversGiven reports whether Servers has more than the default of its flag.
func (c Config) serversGiven() bool { return c.servers == nil || c.servers.Changed }

// Each returns a Config for each of the gateways.
func (c Config) Each() ([]Config, error) {
	all, err := c.settings()
	if err != nil {
		return nil, err
	}
	var out []Config
	for _, server := range all.servers {
		single := c
		single.Servers, single.servers = []string{server}, nil
		out = append(out, single)
	}
	return out, nil
}

// settings are what the flags and the kubeconfig say together.
type settings struct {
	servers   []string
	flag      string // of the servers, for errors
	namespace string
	rest      rest.Config // credentials and TLS
	explicit  bool        // certificates are always verified, unless the kubeconfig says otherwise
}

func (c Config) settings() (settings, error) {
	out := settings{servers: c.Servers, flag: c.ServerFlag, namespace: c.Namespace}
	if out.flag == "" {
		out.flag = "--server"
	}
	if c.Namespace == "." || c.Namespace == ".." || strings.ContainsAny(c.Namespace, "/%") { // would change the path of URLs
		return out, fmt.Errorf("--namespace %q: want the name of a namespace, as default", c.Namespace)
	}
	if c.Kubeconfig+c.Context != "" {
		if err := out.addKubeconfig(c); err != nil {
			return out, err
		}
	}
	if out.namespace == "" {
		out.namespace = "default"
	}
	return out, out.addFiles(c)
}

// addFiles reads the files of --cacert, --cert and --key. They override the kubeconfig.
func (s *settings) addFiles(c Config) (err error) {
	to := &s.rest.TLSClientConfig
	if c.CACert != "" {
		if to.CAData, err = os.ReadFile(c.CACert); err != nil {
			return fmt.Errorf("--cacert: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(to.CAData) {
			return fmt.Errorf("--cacert %s: no certificate in this file: want PEM, as -----BEGIN CERTIFICATE-----", c.CACert)
		}
		to.CAFile, to.Insecure, s.explicit = "", false, true
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("--cert and --key go together: give both or none")
	}
	if c.Cert != "" {
		if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
			return fmt.Errorf("--cert, --key: %w", err)
		}
		to.CertFile, to.CertData, to.KeyFile, to.KeyData = c.Cert, nil, c.Key, nil
	}
	if c.TokenFile != "" {
		s.explicit = true
		s.rest.BearerToken, s.rest.BearerTokenFile, s.rest.ExecProvider, s.rest.AuthProvider = "", "", nil, nil
		s.rest.Username, s.rest.Password = "", ""
	}
	return nil
}
