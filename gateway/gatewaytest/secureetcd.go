package gatewaytest

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"revtail/gateway/gatewaytest/program"
)

// SecureEtcd is an etcd with TLS, whose clients need a certificate of Clients. It is the embedded one of a gateway of its own.
type SecureEtcd struct {
	*Gateway
	Endpoint string     // URL
	CA       string     // file of the authority of etcd's own certificate
	Clients  *Authority // signs the certificates of clients

	servers *Authority
	dir     string
}

// StartSecureEtcd starts a SecureEtcd. It ends with the test.
func StartSecureEtcd(tb testing.TB) *SecureEtcd {
	tb.Helper()
	e := &SecureEtcd{Endpoint: "https://" + program.FreeAddress(), dir: tb.TempDir()}
	cert, key := e.Renew(tb, NewAuthority(tb, "servers"))
	e.Trust(tb, NewAuthority(tb, "clients"))
	config := fmt.Sprintf(`
data-dir: %s
listen-client-urls: %[2]s
advertise-client-urls: %[2]s
listen-peer-urls: http://127.0.0.1:0
bcrypt-cost: 4
client-transport-security: {cert-file: %s, key-file: %s, client-cert-auth: true, trusted-ca-file: %s}
`, filepath.Join(e.dir, "data"), e.Endpoint, cert, key, filepath.Join(e.dir, "clients.crt"))
	e.Gateway = Start(tb, "--embedded-config", e.write(tb, "etcd.yaml", []byte(config)))
	return e
}

// Renew changes the authority of etcd's own certificate, from the next start on, and the content of CA at once.
func (e *SecureEtcd) Renew(tb testing.TB, servers *Authority) (cert, key string) {
	tb.Helper()
	e.servers = servers
	e.CA = e.write(tb, "ca.crt", servers.PEM)
	return e.WritePair(tb, "etcd", servers.Issue(tb, "root")) // etcd's own client uses its name
}

// Trust changes the authority of the clients, from the next start on.
func (e *SecureEtcd) Trust(tb testing.TB, clients *Authority) {
	tb.Helper()
	e.Clients = clients
	e.write(tb, "clients.crt", slices.Concat(e.servers.PEM, clients.PEM))
}

// WritePair writes, or writes over, the files of a certificate and its key.
func (e *SecureEtcd) WritePair(tb testing.TB, name string, pair Pair) (cert, key string) {
	tb.Helper()
	return pair.Write(tb, e.dir, name)
}

func (e *SecureEtcd) write(tb testing.TB, name string, content []byte) string {
	tb.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// EnableLogin makes a user with all rights below some prefixes, and enables etcd's authentication.
func (e *SecureEtcd) EnableLogin(tb testing.TB, user, password string, prefixes ...string) {
	tb.Helper()
	auth := e.auth(tb)
	for name, roles := range map[string][]string{"root": {"root"}, user: {user}} {
		call(tb, auth.UserAdd, &pb.AuthUserAddRequest{Name: name, Password: password})
		for _, role := range roles {
			call(tb, auth.RoleAdd, &pb.AuthRoleAddRequest{Name: role})
			call(tb, auth.UserGrantRole, &pb.AuthUserGrantRoleRequest{User: name, Role: role})
		}
	}
	for _, prefix := range prefixes {
		end := prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1)
		call(tb, auth.RoleGrantPermission, &pb.AuthRoleGrantPermissionRequest{Name: user, Perm: &authpb.Permission{
			PermType: authpb.READWRITE, Key: []byte(prefix), RangeEnd: []byte(end),
		}})
	}
	call(tb, auth.AuthEnable, &pb.AuthEnableRequest{})
}

// ChangePassword gives a user another password.
func (e *SecureEtcd) ChangePassword(tb testing.TB, user, password string) {
	tb.Helper()
	call(tb, e.auth(tb).UserChangePassword, &pb.AuthUserChangePasswordRequest{Name: user, Password: password})
}

// auth returns a client of etcd's authentication, as root by certificate.
func (e *SecureEtcd) auth(tb testing.TB) pb.AuthClient {
	tb.Helper()
	config := &tls.Config{RootCAs: e.servers.Pool(), Certificates: []tls.Certificate{e.Clients.Issue(tb, "root").TLS(tb)}}
	conn, err := grpc.NewClient(strings.TrimPrefix(e.Endpoint, "https://"), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return pb.NewAuthClient(conn)
}
