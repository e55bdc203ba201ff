package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/gateway/gatewaytest/program"
)

// kubeAPIServer is the contender that is a real kube-apiserver.
const kubeAPIServer = "kube-apiserver"

// startKubeAPIServer starts a kube-apiserver before an etcd and waits until it is ready and serves the Namespace default. It has no plain
// HTTP, and serves TLS instead. Its limits on requests are off, as revtail's are. More arguments are flags.
func (s *stage) startKubeAPIServer(ctx context.Context, e *etcd, t transport, flags ...string) (*product, error) {
	if t == plain {
		t = tls11
	}
	address := program.FreeAddress()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	cert, key := s.certificate.CertFile, s.certificate.KeyFile
	start := time.Now()
	process, err := program.Launch(kubeAPIServer, s.dir, append([]string{s.kubeAPIServerProgram, "--etcd-servers", "http://" + e.endpoint,
		"--bind-address", "127.0.0.1", "--secure-port", port,
		"--advertise-address", "192.0.2.1", // because it refuses one of loopback; it is not used
		"--tls-cert-file", cert, "--tls-private-key-file", key, "--cert-dir", s.dir,
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", cert, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount",
		"--authorization-mode", "RBAC", "--feature-gates", "UnauthenticatedHTTP2DOSMitigation=false", "--enable-priority-and-fairness=false",
		"--max-requests-inflight", "0", "--max-mutating-requests-inflight", "0"}, flags...)...)
	if err != nil {
		return nil, err
	}
	p := &product{Process: process, endpoint: endpoint{transport: t, address: address, trust: s.certificate.Trust}}
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		if err := p.untilAnswers(ctx, path); err != nil {
			p.Stop()
			return nil, err
		}
	}
	p.startUp = time.Since(start)
	return p, nil
}

// untilAnswers waits until the server answers a request with success.
func (p *product) untilAnswers(ctx context.Context, path string) error {
	const between = 10 * time.Millisecond                       // of two attempts
	ctx, cancel := context.WithTimeout(ctx, 3*program.Patience) // a first start takes long on a busy machine
	defer cancel()
	for {
		_, err := p.getOnce(ctx, path)
		if err == nil {
			return nil
		}
		select {
		case <-p.Ended:
			return fmt.Errorf("%s ended before it was ready: %s", p.Name, p.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", p.Name, err, p.LastWords())
		case <-time.After(between):
		}
	}
}

// getOnce reads a response over a connection of its own.
func (p *product) getOnce(ctx context.Context, path string) (answer, error) {
	c, err := dial(ctx, p.endpoint)
	if err != nil {
		return answer{}, err
	}
	defer c.close()
	return c.get(path)
}

// everyoneIsAdmin is the key and the value of an object that lets clients without credentials do everything.
func everyoneIsAdmin() (key string, value []byte) {
	return "/registry/clusterrolebindings/bench", []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",` +
		`"metadata":{"name":"bench",` + given + `"labels":{"app":"bench"}},` +
		`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},` +
		`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:unauthenticated"}]}`)
}

// messagePrefix begins what Kubernetes encodes in protobuf.
var messagePrefix = []byte("k8s\x00")

// messageConfigMap returns a ConfigMap in JSON as a kube-apiserver stores it: in protobuf.
func messageConfigMap(object []byte) []byte {
	var config v1.ConfigMap
	_ = json.Unmarshal(object, &config) // it is one of ours; an error leaves an object without a name, which every check finds
	return messageOf("v1", "ConfigMap", &config)
}

// messageOf encodes an object as a kube-apiserver stores it.
func messageOf(version, kind string, object interface{ Marshal() ([]byte, error) }) []byte {
	raw, _ := object.Marshal() // it has no field that cannot be marshaled
	message, _ := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: raw}).Marshal()
	return slices.Concat(messagePrefix, message)
}
