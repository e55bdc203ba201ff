package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Txn is a transaction: it executes Then if all conditions hold, otherwise Else.
type Txn struct {
	If   []Condition
	Then []Op
	Else []Op
}

// Attribute is the attribute of a key that a condition compares. The numbers of a key that does not exist are zero.
type Attribute int

// The attributes of a key.
const (
	OfModified Attribute = iota
	OfCreated
	OfVersion
	OfLease
	OfValue
)

// Relation is the relation of the attribute to the operand of a condition.
type Relation int

// The relations, with the numbers of etcd.
const (
	Equal Relation = iota
	Greater
	Less
	NotEqual
)

// Verb is the type of an Op.
type Verb int

// The verbs.
const (
	Get    Verb = iota // reads a key, with the changes of the Ops before it
	Put                // creates or overwrites a key
	Delete             // deletes a key or, with Prefix, all keys that begin with it
)

// Op is a step of a transaction.
type Op struct {
	Verb   Verb
	Key    string
	Prefix bool   // of Delete
	Value  []byte // of Put
	Lease  int64  // of Put; zero: none
}

// TxnResult is the result of a transaction.
type TxnResult struct {
	Succeeded bool     // the conditions held
	Revision  Revision // of the writes, else of the reads
	Results   []OpResult
}

// OpResult is the result of an executed Op.
type OpResult struct {
	KV      *KV   // of Get; nil: the key does not exist
	Deleted int64 // of Delete: number of keys
}

// Transact implements Store.
func (e *Etcd) Transact(ctx context.Context, t Txn) (TxnResult, error) {
	result, err := e.transact(ctx, t)
	if err != nil && !errors.Is(err, ErrInvalid) {
		err = fmt.Errorf("transaction: %w", err)
	}
	return result, err
}

// transact sends a transaction once. gRPC knows the peer of a call if and only if the call had a connection: without one, the request
// has not left this process.
func (e *Etcd) transact(ctx context.Context, t Txn) (TxnResult, error) {
	if err := t.Check(); err != nil {
		return TxnResult{}, err
	}
	if e.ctx.Err() != nil {
		return TxnResult{}, fmt.Errorf("etcd: %w", ErrClosed)
	}
	bound, cancel := e.boundOnce(ctx)
	defer cancel()
	var to peer.Peer
	resp, err := e.kv.Txn(bound, t.request(), grpc.Peer(&to))
	if err != nil {
		return TxnResult{}, e.toError(ctx, err, 0, to.Addr != nil)
	}
	e.lineage.saw(resp.Header.GetClusterId(), Revision(resp.Header.GetRevision()))
	return toResult(resp), nil
}

func toResult(resp *pb.TxnResponse) TxnResult {
	out := TxnResult{Succeeded: resp.Succeeded, Revision: Revision(resp.Header.Revision)}
	for _, answer := range resp.Responses {
		result := OpResult{Deleted: answer.GetResponseDeleteRange().GetDeleted()}
		if found := answer.GetResponseRange().GetKvs(); len(found) > 0 {
			kv := toKV(found[0])
			result.KV = &kv
		}
		out.Results = append(out.Results, result)
	}
	return out
}

// sendOnce is a gRPC interceptor below the retry loop of the client. The loop retries "cancelled" and "deadline exceeded", also if a
// member or a proxy returned them and also for a transaction. A transaction that was executed and retried would report a conflict with
// itself, so sendOnce replaces these codes for transactions.
func sendOnce(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := next(ctx, method, req, reply, cc, opts...)
	if code := status.Code(err); method == pb.KV_Txn_FullMethodName && (code == codes.Canceled || code == codes.DeadlineExceeded) {
		return status.Error(codes.Aborted, status.Convert(err).Message())
	}
	return err
}

// Check refuses empty keys, which etcd takes for all keys.
func (t Txn) Check() error {
	for _, c := range t.If {
		if err := check("key", c.Key); err != nil {
			return err
		}
	}
	for _, op := range slices.Concat(t.Then, t.Else) {
		if err := check("key", op.Key); err != nil {
			return err
		}
	}
	return nil
}

func (t Txn) request() *pb.TxnRequest {
	req := &pb.TxnRequest{Success: requestOps(t.Then), Failure: requestOps(t.Else)}
	for _, c := range t.If {
		req.Compare = append(req.Compare, c.compare())
	}
	return req
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
		out = append(out, op.request())
	}
	return out
}

func (op Op) request() *pb.RequestOp {
	key := []byte(op.Key)
	switch op.Verb {
	case Put:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: op.Value, Lease: op.Lease}}}
	case Delete:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: key, RangeEnd: rangeEnd(op.Key, !op.Prefix)},
		}}
	}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}
}
