package envtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"

	"revtail/cmd/revtail/command"
)

// certificateIn returns the files of the certificate in a directory, as a kube-apiserver names them. It makes a certificate that only
// clients without verification accept, and the directory, if they are missing.
func certificateIn(dir, address string) (certFile, keyFile string, err error) {
	if dir == "" {
		return "", "", command.UsageError(errors.New("want --cert-dir, the directory of apiserver.crt and apiserver.key, or --tls-cert-file and --tls-private-key-file"))
	}
	certFile, keyFile = filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key")
	if _, err := os.Stat(certFile); !errors.Is(err, fs.ErrNotExist) {
		return certFile, keyFile, err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(address, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"})
	if err != nil {
		return "", "", fmt.Errorf("--bind-address %s: %w", address, err)
	}
	return certFile, keyFile, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(keyFile, key, 0o600), os.WriteFile(certFile, certificate, 0o600))
}

// dataDir is the data of the embedded etcd of a kube-apiserver without --etcd-servers.
func dataDir(certFile string) string { return filepath.Join(filepath.Dir(certFile), "revtail.etcd") }
