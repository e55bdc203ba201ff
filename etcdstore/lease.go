package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

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
