//go:build noembedded

package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Version returns the version of the etcd in this program; empty: it has none.
func Version() string { return "" }

// Server does not exist in this program.
type Server struct{}

// Start returns a *ConfigError, because this program contains no etcd.
func Start(context.Context, Config) (*Server, error) {
	return nil, &ConfigError{Err: errAbsent}
}

var errAbsent = errors.New("this build of revtail has no embedded etcd (build tag noembedded)")

// Main ends the process with an error, because this program contains no etcd.
func Main([]string) {
	_, _ = fmt.Fprintln(os.Stderr, "etcd:", errAbsent)
	os.Exit(1)
}

// Endpoints returns nothing.
func (*Server) Endpoints() []string { return nil }

// TLS returns nil.
func (*Server) TLS() func() *tls.Config { return nil }

// Local returns nothing.
func (*Server) Local() (pb.KVClient, pb.WatchClient) { return nil, nil }

// Err returns nil, from which nothing can be received.
func (*Server) Err() <-chan error { return nil }

// Problems returns nothing.
func (*Server) Problems() []string { return nil }

// Close does nothing.
func (*Server) Close() error { return nil }
