package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"revtail/gateway/gatewaytest/program"
)

const (
	// collection is the path of the watched objects in the gateway, and prefix that of their keys in etcd.
	collection = "/api/v1/namespaces/default/configmaps"
	prefix     = "/registry/configmaps/default/"
	// objectSize is the size of each object.
	objectSize = 1024
)

// servers are an etcd and the gateways before it.
type servers struct {
	dir     string
	etcd    *program.Process
	conn    *grpc.ClientConn
	kv      pb.KVClient
	gateway gateways

	balancer *program.Process // before the replicas; nil: there is one gateway
	address  string           // of the balancer, or the gateway
	admin    string           // address of the operators' listener of the first gateway
	trust    *tls.Config
}

// startServers starts them, with a number of objects in etcd. The caller calls stop, also after an error.
func startServers(ctx context.Context, o options, objects int) (*servers, error) {
	dir, err := os.MkdirTemp("", "revtail-watchers-")
	if err != nil {
		return nil, err
	}
	s := &servers{dir: dir}
	if err = s.startEtcd(o.etcd); err != nil {
		return s, err
	}
	if err = s.fill(ctx, objects); err != nil {
		return s, fmt.Errorf("%w: %s", err, s.etcd.LastWords())
	}
	return s, s.startGateways(ctx, o)
}

func (s *servers) startEtcd(path string) (err error) {
	client, peer := program.FreeAddress(), program.FreeAddress()
	s.etcd, err = program.Launch("etcd", s.dir, path, "--data-dir", filepath.Join(s.dir, "data"), "--log-level", "warn",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	if err != nil {
		return err
	}
	s.conn, err = grpc.NewClient(client, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err == nil {
		s.kv = pb.NewKVClient(s.conn)
	}
	return err
}

func (s *servers) startGateways(ctx context.Context, o options) error {
	certificate, err := program.NewCertificate(s.dir)
	if err != nil {
		return err
	}
	s.trust, s.admin = certificate.Trust.Clone(), program.FreeAddress()
	s.trust.NextProtos = []string{"h2"}
	var addresses []string
	for i := range o.replicas {
		var flags []string
		if o.replicas == 1 { // otherwise the balancer has the certificate
			flags = append(flags, "--tls-cert-file", certificate.CertFile, "--tls-private-key-file", certificate.KeyFile)
		}
		if i == 0 {
			flags = append(flags, "--admin-listen", s.admin)
		}
		address, failed := s.startGateway(ctx, o.revtail, flags)
		if failed != nil {
			return failed
		}
		addresses = append(addresses, address)
	}
	s.address = addresses[0]
	if o.replicas > 1 {
		s.balancer, s.address, err = startBalancer(ctx, s.dir, o.balancer, certificate, addresses)
	}
	return err
}

// startGateway starts a gateway, and returns its address.
func (s *servers) startGateway(ctx context.Context, path string, flags []string) (string, error) {
	gateway, err := program.Launch("revtail", s.dir, append([]string{path, "serve", "--listen", "127.0.0.1:0", "--garbage-collector=false", "--log-level", "warn",
		"--keys=", "--keys-writable=", "--etcd-endpoints", "http://" + s.conn.Target()}, flags...)...)
	if err != nil {
		return "", err
	}
	s.gateway = append(s.gateway, gateway)
	ready, err := gateway.Ready(ctx)
	_, address, _ := strings.Cut(ready["http"], "://")
	return address, err
}

// explain adds what the balancer, if there is one, has said.
func (s *servers) explain(err error) error {
	if s.balancer == nil {
		return err
	}
	return fmt.Errorf("%w: %s", err, s.balancer.LastWords())
}

func (s *servers) stop() {
	if s.balancer != nil {
		s.balancer.Stop()
	}
	s.gateway.stop()
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.etcd != nil {
		s.etcd.Stop()
	}
	_ = os.RemoveAll(s.dir)
}

// fill writes the objects.
func (s *servers) fill(ctx context.Context, objects int) error {
	const writers = 64
	ctx, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	var running sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		running.Go(func() {
			for i := w; i < objects && errs[w] == nil; i += writers {
				_, errs[w] = s.put(ctx, i, 0)
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes an object, and returns its revision.
func (s *servers) put(ctx context.Context, i, version int) (int64, error) {
	name := fmt.Sprintf("object-%06d", i)
	answer, err := s.kv.Put(ctx, &pb.PutRequest{Key: []byte(prefix + name), Value: configMap(name, version)})
	if err != nil {
		return 0, err
	}
	return answer.Header.Revision, nil
}

// revision returns the newest revision.
func (s *servers) revision(ctx context.Context) (int64, error) {
	answer, err := s.kv.Range(ctx, &pb.RangeRequest{Key: []byte("absent"), CountOnly: true})
	if err != nil {
		return 0, err
	}
	return answer.Header.Revision, nil
}

// configMap returns an object as the gateway stores it.
func configMap(name string, version int) []byte {
	const end = `"}}`
	object := fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"default",`+
		`"uid":"5ad16b2c-9d0a-4b44-8f0e-1d6ab6a0c1f7","creationTimestamp":"2026-11-21T00:00:00Z"},"data":{"version":"%d","value":"`, name, version)
	object = append(object, bytes.Repeat([]byte("x"), objectSize-len(object)-len(end))...)
	return append(object, end...)
}

// profile writes a profile of the gateway to a file.
func (s *servers) profile(ctx context.Context, path, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/debug/pprof/"+path, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // public files
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // a public file
}
