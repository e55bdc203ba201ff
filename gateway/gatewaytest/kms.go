package gatewaytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	kmsapi "k8s.io/kms/apis/v2"
)

// KMS is a KMS plugin in the process of the test: the gRPC service, version 2, of Kubernetes. Its ciphertexts are the plain texts with a mark.
type KMS struct {
	kmsapi.UnimplementedKeyManagementServiceServer

	Socket string

	mu     sync.Mutex // guards the fields below
	key    string     // id of the key for new ciphertexts
	server *grpc.Server
	calls  int // of Decrypt
}

var _ kmsapi.KeyManagementServiceServer = (*KMS)(nil)

// StartKMS runs a plugin until the test ends.
func StartKMS(tb testing.TB) *KMS {
	tb.Helper()
	dir, err := os.MkdirTemp("", "kms") //nolint:usetesting // the path of a socket is short
	if err != nil {
		tb.Fatal(err)
	}
	k := &KMS{Socket: filepath.Join(dir, "socket"), key: "1"}
	k.Start(tb)
	tb.Cleanup(func() {
		k.Stop()
		_ = os.RemoveAll(dir)
	})
	return k
}

// Start runs the plugin after Stop.
func (k *KMS) Start(tb testing.TB) {
	tb.Helper()
	listener, err := net.Listen("unix", k.Socket)
	if err != nil {
		tb.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	server := grpc.NewServer()
	kmsapi.RegisterKeyManagementServiceServer(server, k)
	k.server = server
	go func() { _ = server.Serve(listener) }() // ends with Stop
}

// Stop ends the plugin and its connections.
func (k *KMS) Stop() {
	k.mu.Lock()
	server := k.server
	k.mu.Unlock()
	server.Stop()
}

// Rotate makes the plugin use another key for new ciphertexts.
func (k *KMS) Rotate(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = key
}

// Decrypts returns the number of decrypted ciphertexts.
func (k *KMS) Decrypts() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

// Provider returns the plugin as a provider in an EncryptionConfiguration.
func (k *KMS) Provider(name string) string {
	return fmt.Sprintf("  - kms: {apiVersion: v2, name: %s, endpoint: 'unix://%s', timeout: 3s}\n", name, k.Socket)
}

var kmsMark = []byte("encrypted by the test: ")

// Status implements kmsapi.KeyManagementServiceServer.
func (k *KMS) Status(context.Context, *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &kmsapi.StatusResponse{Version: "v2", Healthz: "ok", KeyId: k.key}, nil
}

// Encrypt implements kmsapi.KeyManagementServiceServer.
func (k *KMS) Encrypt(_ context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &kmsapi.EncryptResponse{Ciphertext: append(bytes.Clone(kmsMark), r.Plaintext...), KeyId: k.key}, nil
}

// Decrypt implements kmsapi.KeyManagementServiceServer.
func (k *KMS) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	plain, ok := bytes.CutPrefix(r.Ciphertext, kmsMark)
	if !ok {
		return nil, errors.New("not encrypted by this plugin")
	}
	return &kmsapi.DecryptResponse{Plaintext: plain}, nil
}
