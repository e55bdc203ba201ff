package encryption

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
)

// Config configures a Store. Every field is needed.
type Config struct {
	Store etcdstore.Store
	// Providers returns the providers of the present configuration.
	Providers func() *Providers
	// Resource returns the resource whose providers a key has. Keys without a resource are stored as they are.
	Resource func(key string) (of schema.GroupResource, ok bool)
	Logger   *slog.Logger
}

// Store is a store with encrypted values. Its values are those that were written, and stale where a write of the same value would
// use another key or provider. A value that cannot be decrypted is unreadable, and no error.
//
// The error of a request is an *etcdstore.EncryptionError if a KMS plugin does not answer.
type Store struct {
	etcdstore.Writes

	config   Config
	logged   rate.Sometimes // of values that cannot be decrypted
	failures failures
}

var _ etcdstore.Store = (*Store)(nil)

// logInterval is the least time between two log lines, because a configuration without a key concerns many values.
const logInterval = 10 * time.Second

// New returns a store over another one.
func New(config Config) *Store {
	s := &Store{config: config, logged: rate.Sometimes{Interval: logInterval}}
	s.Writes = etcdstore.NewWrites(s.Transact)
	return s
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	kv, revision, err := s.config.Store.Get(ctx, key)
	if err == nil {
		kv, err = s.decrypt(ctx, kv)
	}
	return kv, revision, err
}

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := s.config.Store.List(ctx, prefix, o)
	if err != nil || o.KeysOnly {
		return page, err
	}
	return s.decryptPage(ctx, page)
}

// Scan implements etcdstore.Scanner.
func (s *Store) Scan(ctx context.Context, prefix string, at etcdstore.Revision) iter.Seq2[etcdstore.Page, error] {
	return func(yield func(etcdstore.Page, error) bool) {
		for page, err := range etcdstore.Scan(ctx, s.config.Store, prefix, at) {
			if err == nil {
				page, err = s.decryptPage(ctx, page)
			}
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// decryptPage decrypts the values of a page in place.
func (s *Store) decryptPage(ctx context.Context, page etcdstore.Page) (etcdstore.Page, error) {
	for i, kv := range page.KVs {
		decrypted, err := s.decrypt(ctx, kv)
		if err != nil {
			return etcdstore.Page{}, err
		}
		page.KVs[i] = decrypted
	}
	return page, nil
}

// Revision implements etcdstore.Store.
func (s *Store) Revision(ctx context.Context) (etcdstore.Revision, error) {
	return s.config.Store.Revision(ctx)
}

// History implements etcdstore.Store.
func (s *Store) History() uint64 { return s.config.Store.History() }

// Former implements etcdstore.Store.
func (s *Store) Former() etcdstore.Revision { return s.config.Store.Former() }

// Grant implements etcdstore.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error) {
	return s.config.Store.Grant(ctx, ttl)
}

// Revoke implements etcdstore.Store.
func (s *Store) Revoke(ctx context.Context, lease int64) error {
	return s.config.Store.Revoke(ctx, lease)
}

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &watcher{Watcher: s.config.Store.Watch(ctx, prefix, o), store: s}
}
