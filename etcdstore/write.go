package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Writes has the writes of a Store to one key. They are transactions.
type Writes struct {
	transact func(context.Context, Txn) (TxnResult, error)
}

// NewWrites returns the writes of a store with these transactions.
func NewWrites(transact func(context.Context, Txn) (TxnResult, error)) Writes {
	return Writes{transact}
}

// Create implements Store.
func (w Writes) Create(ctx context.Context, key string, value []byte) (Revision, error) {
	result, err := w.transact(ctx, Txn{
		If:   []Condition{{Key: key, Of: OfModified, Is: Equal}},
		Then: []Op{{Verb: Put, Key: key, Value: value}},
	})
	if err == nil && !result.Succeeded {
		err = ErrExists
	}
	return outcome("create", key, result, err)
}

// CreateGuarded implements Store.
func (w Writes) CreateGuarded(ctx context.Context, key string, value []byte, guard Guard) (Revision, error) {
	if guard.Modified <= 0 {
		return 0, fmt.Errorf("%w: guard %q without its revision", ErrInvalid, guard.Key)
	}
	result, err := w.transact(ctx, Txn{
		If:   []Condition{{Key: key, Of: OfModified, Is: Equal}, {Key: guard.Key, Of: OfModified, Is: Equal, Number: int64(guard.Modified)}},
		Then: []Op{{Verb: Put, Key: key, Value: value}},
		Else: []Op{{Verb: Get, Key: key}},
	})
	switch {
	case err != nil || result.Succeeded:
	case result.Results[0].KV != nil:
		err = ErrExists
	default:
		err = fmt.Errorf("%q: %w", guard.Key, ErrConflict)
	}
	return outcome("create", key, result, err)
}

// Update implements Store.
func (w Writes) Update(ctx context.Context, key string, value []byte, want Revision) (Revision, error) {
	if want <= 0 {
		return 0, fmt.Errorf("%w: update %q without the revision to be overwritten", ErrInvalid, key)
	}
	return w.replace(ctx, "update", Equal, want, Op{Verb: Put, Key: key, Value: value})
}

// Delete implements Store.
func (w Writes) Delete(ctx context.Context, key string, want Revision) (Revision, error) {
	if want < 0 {
		return 0, fmt.Errorf("%w: delete %q at a negative revision", ErrInvalid, key)
	}
	is := Equal
	if want == 0 {
		is = Greater // the key exists
	}
	return w.replace(ctx, "delete", is, want, Op{Verb: Delete, Key: key})
}

// replace executes op if the revision of its key is want, or greater than want.
func (w Writes) replace(ctx context.Context, verb string, is Relation, want Revision, op Op) (Revision, error) {
	result, err := w.transact(ctx, Txn{
		If:   []Condition{{Key: op.Key, Of: OfModified, Is: is, Number: int64(want)}},
		Then: []Op{op},
		Else: []Op{{Verb: Get, Key: op.Key}},
	})
	switch {
	case err != nil || result.Succeeded:
	case result.Results[0].KV != nil:
		err = &ConflictError{*result.Results[0].KV}
	default:
		err = ErrNotFound
	}
	return outcome(verb, op.Key, result, err)
}

func outcome(verb, key string, result TxnResult, err error) (Revision, error) {
	if err == nil || errors.Is(err, ErrInvalid) {
		return result.Revision, err
	}
	return 0, fmt.Errorf("%s %q: %w", verb, key, err)
}

// Grant implements Store. A lease whose response was lost expires.
func (e *Etcd) Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error) {
	if ttl <= 0 {
		return 0, 0, fmt.Errorf("%w: a lease of %v", ErrInvalid, ttl)
	}
	bound, cancel := e.bound(ctx)
	defer cancel()
	seconds := (ttl + time.Second - 1) / time.Second
	resp, err := e.lease.LeaseGrant(bound, &pb.LeaseGrantRequest{TTL: int64(seconds)})
	if err != nil {
		return 0, 0, fmt.Errorf("lease: %w", e.toError(ctx, err, 0, false))
	}
	return resp.ID, time.Duration(resp.TTL) * time.Second, nil
}

// Revoke implements Store.
func (e *Etcd) Revoke(ctx context.Context, lease int64) error {
	bound, cancel := e.bound(ctx)
	defer cancel()
	_, err := e.lease.LeaseRevoke(bound, &pb.LeaseRevokeRequest{ID: lease})
	if err == nil || errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return fmt.Errorf("lease: %w", e.toError(ctx, err, 0, true))
}
