package flowcontrol

import (
	"context"
	"iter"
	"time"

	"revtail/etcdstore"
)

type userKey struct{}

// WithUser returns a context of the requests of a user to etcd.
func WithUser(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// limitedStore is a store whose writes need a seat. Writes without a user are the gateway's own, which need none.
type limitedStore struct {
	etcdstore.Store
	writes *Pool
}

// LimitWrites returns a store that makes each write wait for a seat of a pool, which the user of its context gets. An error without a seat
// says that the write was not done.
func LimitWrites(store etcdstore.Store, writes *Pool) etcdstore.Store {
	return limitedStore{store, writes}
}

// Scan implements etcdstore.Scanner.
func (s limitedStore) Scan(ctx context.Context, prefix string, at etcdstore.Revision) iter.Seq2[etcdstore.Page, error] {
	return etcdstore.Scan(ctx, s.Store, prefix, at)
}

// acquire takes the seat of a write.
func (s limitedStore) acquire(ctx context.Context) (Seats, error) {
	user, ok := ctx.Value(userKey{}).(string)
	if !ok {
		return Seats{}, nil
	}
	return s.writes.Acquire(ctx, user, 1)
}

// Create implements etcdstore.Store.
func (s limitedStore) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	seat, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer seat.Release()
	return s.Store.Create(ctx, key, value)
}

// CreateGuarded implements etcdstore.Store.
func (s limitedStore) CreateGuarded(ctx context.Context, key string, value []byte, guard etcdstore.Guard) (etcdstore.Revision, error) {
	seat, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer seat.Release()
	return s.Store.CreateGuarded(ctx, key, value, guard)
}

// Update implements etcdstore.Store.
func (s limitedStore) Update(ctx context.Context, key string, value []byte, want etcdstore.Revision) (etcdstore.Revision, error) {
	seat, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer seat.Release()
	return s.Store.Update(ctx, key, value, want)
}

// Delete implements etcdstore.Store.
func (s limitedStore) Delete(ctx context.Context, key string, want etcdstore.Revision) (etcdstore.Revision, error) {
	seat, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer seat.Release()
	return s.Store.Delete(ctx, key, want)
}

// Transact implements etcdstore.Store.
func (s limitedStore) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	seat, err := s.acquire(ctx)
	if err != nil {
		return etcdstore.TxnResult{}, err
	}
	defer seat.Release()
	return s.Store.Transact(ctx, t)
}

// Grant implements etcdstore.Store.
func (s limitedStore) Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error) {
	seat, err := s.acquire(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer seat.Release()
	return s.Store.Grant(ctx, ttl)
}
