package redaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"revtail/etcdstore"
)

// ErrReadOnly is the error of every write: what a client read here and writes back would replace the values of Secrets.
var ErrReadOnly = errors.New("the values of Secrets are redacted, and such data is only read")

// Config configures a Store. Every field is needed.
type Config struct {
	Store  etcdstore.Store // a read-only one
	Prefix string          // of the resources, as /registry
	Key    Key
}

// Store is a store whose Secrets have no values.
type Store struct {
	etcdstore.Store

	redactor redactor
}

var _ etcdstore.Store = (*Store)(nil)

// New returns a store over another one.
func New(config Config) *Store {
	return &Store{Store: config.Store, redactor: redactor{prefix: config.Prefix, key: config.Key}}
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	kv, revision, err := s.Store.Get(ctx, key)
	return s.redactor.redact(kv), revision, err
}

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := s.Store.List(ctx, prefix, o)
	for i, kv := range page.KVs {
		page.KVs[i] = s.redactor.redact(kv)
	}
	return page, err
}

// Transact implements etcdstore.Store. Conditions compare redacted values: otherwise a client could learn a value by comparisons.
func (s *Store) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if err := t.Check(); err != nil {
		return etcdstore.TxnResult{}, err
	}
	if slices.ContainsFunc(slices.Concat(t.Then, t.Else), func(op etcdstore.Op) bool { return op.Verb != etcdstore.Get }) {
		return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", ErrReadOnly)
	}
	out, ops := etcdstore.TxnResult{Succeeded: true}, t.Then
	for _, condition := range t.If {
		kv, err := s.get(ctx, condition.Key)
		if err != nil {
			return etcdstore.TxnResult{}, err
		}
		if !condition.Holds(kv) {
			out.Succeeded, ops = false, t.Else
		}
	}
	for _, op := range ops {
		kv, err := s.get(ctx, op.Key)
		if err != nil {
			return etcdstore.TxnResult{}, err
		}
		out.Results = append(out.Results, etcdstore.OpResult{KV: kv})
	}
	var err error
	out.Revision, err = s.Revision(ctx)
	return out, err
}

// get returns the state of a key; nil: it does not exist.
func (s *Store) get(ctx context.Context, key string) (*etcdstore.KV, error) {
	kv, _, err := s.Get(ctx, key)
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	return &kv, err
}

// Create implements etcdstore.Store.
func (s *Store) Create(context.Context, string, []byte) (etcdstore.Revision, error) {
	return 0, ErrReadOnly
}

// CreateGuarded implements etcdstore.Store.
func (s *Store) CreateGuarded(context.Context, string, []byte, etcdstore.Guard) (etcdstore.Revision, error) {
	return 0, ErrReadOnly
}

// Update implements etcdstore.Store.
func (s *Store) Update(context.Context, string, []byte, etcdstore.Revision) (etcdstore.Revision, error) {
	return 0, ErrReadOnly
}

// Delete implements etcdstore.Store.
func (s *Store) Delete(context.Context, string, etcdstore.Revision) (etcdstore.Revision, error) {
	return 0, ErrReadOnly
}

// Grant implements etcdstore.Store.
func (s *Store) Grant(context.Context, time.Duration) (lease int64, granted time.Duration, err error) {
	return 0, 0, ErrReadOnly
}

// Revoke implements etcdstore.Store.
func (s *Store) Revoke(context.Context, int64) error { return ErrReadOnly }

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &watcher{s.Store.Watch(ctx, prefix, o), s.redactor}
}

// watcher redacts the events of a watch of another store.
type watcher struct {
	etcdstore.Watcher

	redactor redactor
}

// Next implements etcdstore.Watcher. The events are new ones, because the states of those of the other store are shared.
func (w *watcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	batch, err := w.Watcher.Next(ctx)
	batch.Events = slices.Clone(batch.Events)
	for i := range batch.Events {
		for _, state := range []**etcdstore.KV{&batch.Events[i].KV, &batch.Events[i].Prev} {
			if *state != nil {
				redacted := w.redactor.redact(**state)
				*state = &redacted
			}
		}
	}
	return batch, err
}
