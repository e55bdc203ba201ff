package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"revtail/gateway/config"
)

// Config names gateways and the credentials for them.
type Config struct {
	Servers   []string // URLs of gateways of one etcd, or unix:///path of their sockets: a request goes to the next when one does not answer
	CACert    string   // file of the authorities that sign the gateways' certificates; empty: the system's
	Cert, Key string   // files of the client certificate; empty: none
	TokenFile string   // file of a bearer token, read again for each request; empty: none

	ServerFlag string // the flag of Servers, for errors; default --server
	NoProxy    bool   // ignores HTTP_PROXY and the like
}

// AddFlags defines a flag for each field.
func (c *Config) AddFlags(flags *pflag.FlagSet) {
	servers := []string{"http://127.0.0.1:8080"}
	if env := os.Getenv(config.EnvServer); env != "" {
		servers = strings.Split(env, ",")
	}
	flags.StringSliceVar(&c.Servers, "server", servers, "comma-separated `URLs` of gateways of one etcd, or unix:///path of their sockets: a request goes to the next when one does not answer ("+config.EnvServer+")")
	flags.StringVar(&c.CACert, "cacert", "", "PEM `file` of the authorities that sign the gateways' certificates; none: those of the system, and any on loopback")
	flags.StringVar(&c.Cert, "cert", "", "PEM `file` of a client certificate")
	flags.StringVar(&c.Key, "key", "", "PEM `file` of the key of that certificate")
	flags.StringVar(&c.TokenFile, "token-file", "", "`file` that contains a bearer token")
}

func (c Config) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CACert != "" {
		pem, err := os.ReadFile(c.CACert)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--cacert %s: no certificate in this file", c.CACert)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return nil, errors.New("--cert and --key go together: give both or none")
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("--cert, --key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
