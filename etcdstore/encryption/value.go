package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"revtail/etcdstore"
)

// Decrypt returns a key of the other store as Get does.
func (s *Store) Decrypt(ctx context.Context, stored etcdstore.KV) (etcdstore.KV, error) {
	return s.decrypt(ctx, stored)
}

// decrypt returns a key as it was written. The caller's key shares its memory with others, so it stays as it is.
func (s *Store) decrypt(ctx context.Context, kv etcdstore.KV) (etcdstore.KV, error) {
	of, ok := s.config.Resource(kv.Key)
	if !ok || kv.Value == nil { // a journal has not kept it
		return kv, nil
	}
	providers := s.config.Providers()
	plain, stale, err := providers.transformer(of).TransformFromStorage(ctx, kv.Value, value.DefaultContext(kv.Key))
	away := err != nil && isTemporary(err)
	if err != nil && !away && bytes.HasPrefix(kv.Value, encryptedByKMS) {
		// A provider whose plugin has not answered yet has other errors. Check asks the plugin, so the provider may be able to decrypt then. Its
		// error names the plugin.
		if failed := providers.Check(ctx); failed != nil {
			err, away = failed, true
		} else {
			plain, stale, err = providers.transformer(of).TransformFromStorage(ctx, kv.Value, value.DefaultContext(kv.Key))
			away = err != nil && isTemporary(err)
		}
	}
	switch {
	case err == nil:
		kv.Value, kv.Stale = plain, stale
	case ctx.Err() != nil:
		return etcdstore.KV{}, fmt.Errorf("decrypting %q: %w", kv.Key, ctx.Err())
	case away:
		return etcdstore.KV{}, &etcdstore.EncryptionError{Key: kv.Key, Err: err}
	default:
		kv.Unreadable = &etcdstore.UnreadableError{Key: kv.Key, Reason: reason(kv.Value, of, providers, err)}
		s.failures.suspect(of, kv.Unreadable)
		s.logged.Do(func() { s.config.Logger.Warn("a value cannot be read, and perhaps others", "reason", kv.Unreadable) })
	}
	return kv, nil
}

// encrypt returns a value as it is to be stored.
func (s *Store) encrypt(ctx context.Context, key string, plain []byte) ([]byte, error) {
	of, ok := s.config.Resource(key)
	if !ok {
		return plain, nil
	}
	// The key is authenticated with the value, as by a kube-apiserver, so that a value that was copied to another key cannot be read there.
	stored, err := s.config.Providers().transformer(of).TransformToStorage(ctx, plain, value.DefaultContext(key))
	switch {
	case err == nil:
		return stored, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("encrypting %q: %w", key, ctx.Err())
	}
	return nil, &etcdstore.EncryptionError{Key: key, Err: err}
}

// isTemporary reports whether an error is that of a KMS plugin that does not answer, and not of one that refuses the value.
func isTemporary(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	answer, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err)
	if !ok {
		return false
	}
	code := answer.GRPCStatus().Code()
	return code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled
}

// encrypted begins each encrypted value, encryptedByKMS those of KMS plugins.
var encrypted, encryptedByKMS = []byte("k8s:enc:"), []byte("k8s:enc:kms:")

// reason says why a value of a resource cannot be decrypted. It has no part of the value but the provider and the name of the key.
func reason(stored []byte, of schema.GroupResource, providers *Providers, err error) string {
	switch begin := ProviderOf(stored); {
	case begin == "":
		return fmt.Sprintf("it is not encrypted, and the providers of %s in --encryption-provider-config lack identity", of)
	case providers.byResource == nil:
		return fmt.Sprintf("it begins with %q, and --encryption-provider-config is not given", begin)
	case !providers.Names(of):
		return fmt.Sprintf("it begins with %q, and --encryption-provider-config has no providers for %s", begin, of)
	default:
		return fmt.Sprintf("it begins with %q, and no provider of %s in --encryption-provider-config has decrypted it: %v", begin, of, err)
	}
}

// ProviderOf returns the provider and the name of the key that a value begins with, as k8s:enc:aescbc:v1:key1: ; empty: it is not encrypted.
func ProviderOf(stored []byte) string {
	if !bytes.HasPrefix(stored, encrypted) {
		return ""
	}
	const parts, longest = 5, 253
	end := 0
	for range parts {
		next := bytes.IndexByte(stored[end:min(len(stored), longest)], ':')
		if next < 0 {
			break
		}
		end += next + 1
	}
	return string(stored[:end])
}
