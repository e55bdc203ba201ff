package etcdstore

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// freshTLS is TLS that is configured anew for each connection: certificates and authorities may be replaced meanwhile.
type freshTLS struct {
	credentials.TransportCredentials // for what is not about a connection
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
