package offline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore/encryption"
	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// decrypt opens the store that decrypts the values of the file. Without --encryption-provider-config it finds the encrypted ones, which are unreadable.
func (s *Server) decrypt(ctx context.Context, logger *slog.Logger) error {
	s.providers = encryption.None()
	if path := s.options.EncryptionProviderConfig; path != "" {
		content, err := os.ReadFile(path)
		if err == nil {
			s.providers, err = encryption.Load(ctx, path, content)
		}
		if err != nil {
			s.providers = nil
			return fmt.Errorf("--encryption-provider-config: %w", err)
		}
	}
	s.decrypted = encryption.New(encryption.Config{
		Store: s.file, Providers: func() *encryption.Providers { return s.providers }, Logger: logger,
		Resource: func(key string) (schema.GroupResource, bool) { return s.resourceOf(key) },
	})
	return nil
}

// CheckDecryption reads one value of each resource, when the server is ready, and returns which resources have values that cannot be decrypted. The
// error says why that is not known, as if a KMS plugin does not answer.
func (s *Server) CheckDecryption(ctx context.Context) (problems []string, err error) {
	err = s.Probe(ctx)
	s.decrypted.Recheck(ctx)
	return s.undecryptable(), err
}

// undecryptable returns a sentence about each resource with values of which it is known that they cannot be decrypted.
func (s *Server) undecryptable() (out []string) {
	for _, failure := range s.decrypted.Failures() {
		out = append(out, fmt.Sprintf("a value of %s cannot be decrypted: %s", failure.Resource, failure.Err.Reason))
	}
	return out
}

// undecrypted returns why the server is not ready: values that CheckDecryption has found.
func (s *Server) undecrypted() error {
	if problems := s.undecryptable(); len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// resourceOf returns the resource whose providers the value of a key has.
func (s *Server) resourceOf(key string) (schema.GroupResource, bool) {
	if s.cluster {
		return kinds.ClusterResource(s.options.Prefix, key)
	}
	of, ok := resource.Of(s.options.Prefix, key)
	if of.Group == "events.k8s.io" { // a configuration cannot name it: in Kubernetes they are the events of the core group
		of.Group = ""
	}
	return of, ok
}
