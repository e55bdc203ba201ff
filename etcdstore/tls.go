package etcdstore

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// freshTLS is TLS with a new configuration for each connection, because certificates and authorities may change.
type freshTLS struct {
	credentials.TransportCredentials // for methods without a connection
	config                           func() *tls.Config
}

func newFreshTLS(config func() *tls.Config) credentials.TransportCredentials {
	return freshTLS{credentials.NewTLS(config()), config}
}

// ClientHandshake implements credentials.TransportCredentials.
func (f freshTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(f.config()).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (f freshTLS) Clone() credentials.TransportCredentials { return newFreshTLS(f.config) }
