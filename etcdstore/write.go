package etcdstore

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Create implements Store.
func (e *Etcd) Create(ctx context.Context, key string, value []byte) (Revision, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	resp, err := e.write(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{modified(key, pb.Compare_EQUAL, 0)},
		Success: []*pb.RequestOp{put(key, value)},
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("create %q: %w", key, err)
	case !resp.Succeeded:
		return 0, fmt.Errorf("create %q: %w", key, ErrExists)
	}
	return Revision(resp.Header.Revision), nil
}

// CreateGuarded implements Store.
func (e *Etcd) CreateGuarded(ctx context.Context, key string, value []byte, guard Guard) (Revision, error) {
	if err := errors.Join(checkKey(key), guard.check()); err != nil {
		return 0, err
	}
	resp, err := e.write(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{modified(key, pb.Compare_EQUAL, 0), modified(guard.Key, pb.Compare_EQUAL, guard.Modified)},
		Success: []*pb.RequestOp{put(key, value)},
		Failure: []*pb.RequestOp{find(key)},
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("create %q: %w", key, err)
	case resp.Succeeded:
		return Revision(resp.Header.Revision), nil
	case len(resp.Responses[0].GetResponseRange().GetKvs()) > 0:
		return 0, fmt.Errorf("create %q: %w", key, ErrExists)
	}
	return 0, fmt.Errorf("create %q: %q: %w", key, guard.Key, ErrConflict)
}

func (g Guard) check() error {
	if g.Modified <= 0 {
		return fmt.Errorf("%w: guard %q without the revision that it must have", ErrInvalid, g.Key)
	}
	return checkKey(g.Key)
}

// Update implements Store.
func (e *Etcd) Update(ctx context.Context, key string, value []byte, want Revision) (Revision, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	if want <= 0 {
		return 0, fmt.Errorf("%w: update %q without the revision to be overwritten", ErrInvalid, key)
	}
	resp, err := e.write(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{modified(key, pb.Compare_EQUAL, want)},
		Success: []*pb.RequestOp{put(key, value)},
		Failure: []*pb.RequestOp{get(key)},
	})
	return outcome("update", key, resp, err)
}

// Delete implements Store.
func (e *Etcd) Delete(ctx context.Context, key string, want Revision) (Revision, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	if want < 0 {
		return 0, fmt.Errorf("%w: delete %q at a negative revision", ErrInvalid, key)
	}
	compare := modified(key, pb.Compare_EQUAL, want)
	if want == 0 {
		compare = modified(key, pb.Compare_GREATER, 0) // it exists
	}
	resp, err := e.write(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{compare},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)},
		}}},
		Failure: []*pb.RequestOp{get(key)},
	})
	return outcome("delete", key, resp, err)
}

// outcome reads the answer to a transaction that gets the key if its comparison fails.
func outcome(verb, key string, resp *pb.TxnResponse, err error) (Revision, error) {
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", verb, key, err)
	}
	if resp.Succeeded {
		return Revision(resp.Header.Revision), nil
	}
	if found := resp.Responses[0].GetResponseRange().GetKvs(); len(found) > 0 {
		return 0, fmt.Errorf("%s %q: %w", verb, key, &ConflictError{toKV(found[0])})
	}
	return 0, fmt.Errorf("%s %q: %w", verb, key, ErrNotFound)
}

// write sends a transaction once. gRPC knows the peer of a call exactly if it got as far as a connection: without one
// nothing has left this process.
func (e *Etcd) write(ctx context.Context, req *pb.TxnRequest) (*pb.TxnResponse, error) {
	if e.ctx.Err() != nil {
		return nil, fmt.Errorf("etcd: %w", ErrClosed)
	}
	bound, cancel := e.boundOnce(ctx)
	defer cancel()
	var to peer.Peer
	resp, err := e.kv.Txn(bound, req, grpc.Peer(&to))
	if err != nil {
		return nil, e.toError(ctx, err, 0, to.Addr != nil)
	}
	return resp, nil
}

// sendOnce stands between the client's retry loop and the network. The loop takes "cancelled" and "deadline exceeded" for
// its own limits and sends again, also a transaction and also when it was a member or a proxy that said so; a transaction
// that was done and sent again would then be told that it lost against somebody else. So transactions never show these codes.
func sendOnce(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := next(ctx, method, req, reply, cc, opts...)
	if code := status.Code(err); method == pb.KV_Txn_FullMethodName && (code == codes.Canceled || code == codes.DeadlineExceeded) {
		return status.Error(codes.Aborted, status.Convert(err).Message())
	}
	return err
}

func modified(key string, result pb.Compare_CompareResult, rev Revision) *pb.Compare {
	return &pb.Compare{
		Key:         []byte(key),
		Target:      pb.Compare_MOD,
		Result:      result,
		TargetUnion: &pb.Compare_ModRevision{ModRevision: int64(rev)},
	}
}

func put(key string, value []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: value}}}
}

func get(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key)}}}
}

// find gets a key without its value.
func find(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key), KeysOnly: true}}}
}
