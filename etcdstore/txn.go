package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Txn is a transaction: when all conditions hold, what Then says is done, else what Else says.
type Txn struct {
	If   []Condition
	Then []Op
	Else []Op
}

// Attribute is what of a key a condition is about. Of a key that does not exist all numbers are zero.
type Attribute int

// The attributes of a key.
const (
	OfModified Attribute = iota
	OfCreated
	OfVersion
	OfLease
	OfValue
)

// Relation is how an attribute has to be to what a condition names.
type Relation int

// The relations, in etcd's numbers.
const (
	Equal Relation = iota
	Greater
	Less
	NotEqual
)

// Condition is what must be true of a key.
type Condition struct {
	Key    string
	Of     Attribute
	Is     Relation
	Number int64  // of an attribute that is one
	Value  []byte // of OfValue
}

// Verb is what an Op does.
type Verb int

// The verbs.
const (
	Get    Verb = iota // what stands under a key, also if an Op before it has put it there
	Put                // makes or overwrites a key
	Delete             // removes a key or, with Prefix, all that begin with it
)

// Op is a step of a transaction.
type Op struct {
	Verb   Verb
	Key    string
	Prefix bool   // of Delete
	Value  []byte // of Put
	Lease  int64  // of Put; zero: none
}

// TxnResult is what a transaction came to.
type TxnResult struct {
	Succeeded bool     // the conditions held
	Revision  Revision // of what was written, or read
	Results   []OpResult
}

// OpResult is what an Op came to, in the order of those that were done.
type OpResult struct {
	KV      *KV   // of Get; nil: there is no such key
	Deleted int64 // of Delete: how many keys
}

// Transact implements Store.
func (e *Etcd) Transact(ctx context.Context, t Txn) (TxnResult, error) {
	if err := t.Check(); err != nil {
		return TxnResult{}, err
	}
	req := &pb.TxnRequest{Success: requestOps(t.Then), Failure: requestOps(t.Else)}
	for _, c := range t.If {
		req.Compare = append(req.Compare, c.compare())
	}
	resp, err := e.write(ctx, req)
	if err != nil {
		return TxnResult{}, fmt.Errorf("transaction: %w", err)
	}
	out := TxnResult{Succeeded: resp.Succeeded, Revision: Revision(resp.Header.Revision)}
	for _, answer := range resp.Responses {
		result := OpResult{Deleted: answer.GetResponseDeleteRange().GetDeleted()}
		if found := answer.GetResponseRange().GetKvs(); len(found) > 0 {
			kv := toKV(found[0])
			result.KV = &kv
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// Check refuses what etcd would understand as something else: empty keys are the whole keyspace.
func (t Txn) Check() error {
	for _, c := range t.If {
		if err := checkKey(c.Key); err != nil {
			return err
		}
	}
	for _, ops := range [][]Op{t.Then, t.Else} {
		for _, op := range ops {
			if err := checkKey(op.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Condition) compare() *pb.Compare {
	out := &pb.Compare{Key: []byte(c.Key), Result: pb.Compare_CompareResult(c.Is)}
	switch c.Of {
	case OfModified:
		out.Target, out.TargetUnion = pb.Compare_MOD, &pb.Compare_ModRevision{ModRevision: c.Number}
	case OfCreated:
		out.Target, out.TargetUnion = pb.Compare_CREATE, &pb.Compare_CreateRevision{CreateRevision: c.Number}
	case OfVersion:
		out.Target, out.TargetUnion = pb.Compare_VERSION, &pb.Compare_Version{Version: c.Number}
	case OfLease:
		out.Target, out.TargetUnion = pb.Compare_LEASE, &pb.Compare_Lease{Lease: c.Number}
	case OfValue:
		out.Target, out.TargetUnion = pb.Compare_VALUE, &pb.Compare_Value{Value: c.Value}
	}
	return out
}

func requestOps(ops []Op) []*pb.RequestOp {
	out := make([]*pb.RequestOp, 0, len(ops))
	for _, op := range ops {
		switch op.Verb {
		case Get:
			out = append(out, get(op.Key))
		case Put:
			p := put(op.Key, op.Value)
			p.GetRequestPut().Lease = op.Lease
			out = append(out, p)
		case Delete:
			req := &pb.DeleteRangeRequest{Key: []byte(op.Key)}
			if op.Prefix {
				req.RangeEnd = rangeEnd(op.Key, false)
			}
			out = append(out, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: req}})
		}
	}
	return out
}

// Grant implements Store. A lease that was made and not heard of ends by itself.
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
