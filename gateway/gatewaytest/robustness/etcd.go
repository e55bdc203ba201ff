package robustness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// Etcd requests the members of an etcd over plain gRPC, without the gateway or its client.
type Etcd struct {
	conns []*grpc.ClientConn

	mu   sync.Mutex // guards the field below
	turn int        // the member that answered last
}

// answerWithin is the time for the answer of a member before the next one is asked.
const answerWithin = 2 * time.Second

func dialEtcd(endpoints []string) (*Etcd, error) {
	e := &Etcd{}
	for _, endpoint := range endpoints {
		conn, err := grpc.NewClient(strings.TrimPrefix(endpoint, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithConnectParams(grpc.ConnectParams{
				MinConnectTimeout: time.Second,
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 300 * time.Millisecond},
			}))
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
		e.conns = append(e.conns, conn)
	}
	return e, nil
}

// Close closes the connections.
func (e *Etcd) Close() error {
	var errs []error
	for _, conn := range e.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// once makes a request to one member, once; after a failure the next request goes to the next member.
func (e *Etcd) once(ctx context.Context, request func(context.Context, *grpc.ClientConn) error) error {
	e.mu.Lock()
	turn := e.turn
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := request(ctx, e.conns[turn])
	if err != nil {
		e.mu.Lock()
		e.turn = (turn + 1) % len(e.conns)
		e.mu.Unlock()
	}
	return err
}

// patiently repeats a request until a member answers, or ctx ends.
func (e *Etcd) patiently(ctx context.Context, request func(context.Context, *grpc.ClientConn) error) error {
	for {
		err := e.once(ctx, request)
		if err == nil {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		}
	}
}

// pause lets time pass; false: ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// state reads all objects of the resource, linearizably, as of one revision.
func (e *Etcd) state(ctx context.Context) ([]*Object, int64, error) {
	var objects []*Object
	var revision int64
	err := e.patiently(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		objects = nil
		resp, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(prefix[:len(prefix)-1] + "0")})
		if err != nil {
			return err
		}
		revision = resp.Header.Revision
		for _, kv := range resp.Kvs {
			o, _, err := parseObject(kv.Value)
			if err != nil {
				return err
			}
			o.Revision = kv.ModRevision
			objects = append(objects, &o)
		}
		return nil
	})
	return objects, revision, err
}

// put writes keys and values in one transaction, once, and returns its revision.
func (e *Etcd) put(ctx context.Context, lease int64, values map[string]string) (int64, error) {
	var revision int64
	txn := &pb.TxnRequest{}
	for key, value := range values {
		put := &pb.PutRequest{Key: []byte(key), Value: []byte(value), Lease: lease}
		txn.Success = append(txn.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}})
	}
	err := e.once(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		resp, err := pb.NewKVClient(conn).Txn(ctx, txn)
		if err == nil {
			revision = resp.Header.Revision
		}
		return err
	})
	return revision, err
}

// deleteAll deletes all keys with a prefix, in one revision.
func (e *Etcd) deleteAll(ctx context.Context, keys string) (int64, error) {
	var revision int64
	end := []byte(keys)
	end[len(end)-1]++
	err := e.once(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		resp, err := pb.NewKVClient(conn).DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte(keys), RangeEnd: end})
		if err == nil && resp.Deleted > 0 {
			revision = resp.Header.Revision
		}
		return err
	})
	return revision, err
}

// grant makes a lease.
func (e *Etcd) grant(ctx context.Context, ttl time.Duration) (int64, error) {
	var id int64
	err := e.once(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		resp, err := pb.NewLeaseClient(conn).LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: int64(ttl / time.Second)})
		if err == nil {
			id = resp.ID
		}
		return err
	})
	return id, err
}

func (e *Etcd) compact(ctx context.Context, revision int64) error {
	return e.once(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewKVClient(conn).Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: true})
		return err
	})
}

// leader returns the index of the leading member, or an error if there is none.
func (e *Etcd) leader(ctx context.Context) (int, error) {
	for i, conn := range e.conns {
		bounded, cancel := context.WithTimeout(ctx, answerWithin/2)
		status, err := pb.NewMaintenanceClient(conn).Status(bounded, &pb.StatusRequest{})
		cancel()
		if err == nil && status.Leader == status.Header.MemberId {
			return i, nil
		}
	}
	return 0, errors.New("no member says that it leads")
}

// recoverSpace recovers an etcd without free space: it is defragmented, and its alarms are disarmed.
func (e *Etcd) recoverSpace(ctx context.Context) error {
	for _, conn := range e.conns {
		if _, err := pb.NewMaintenanceClient(conn).Defragment(ctx, &pb.DefragmentRequest{}); err != nil {
			return err
		}
	}
	return e.once(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		maintenance := pb.NewMaintenanceClient(conn)
		alarms, err := maintenance.Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_GET})
		if err != nil {
			return err
		}
		for _, alarm := range alarms.Alarms {
			disarm := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID, Alarm: alarm.Alarm}
			if _, err := maintenance.Alarm(ctx, disarm); err != nil {
				return err
			}
		}
		return nil
	})
}

// record adds the changes of a member to the truth, until ctx ends. After an error it continues at the end of the truth.
func (e *Etcd) record(ctx context.Context, member int, truth *Truth) {
	for ctx.Err() == nil {
		if err := e.follow(ctx, member, truth); errors.Is(err, errCompacted) {
			return // the final comparison with etcd shows missing changes
		}
		pause(ctx, 50*time.Millisecond)
	}
}

var errCompacted = errors.New("compacted")

func (e *Etcd) follow(ctx context.Context, member int, truth *Truth) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewWatchClient(e.conns[member]).Watch(ctx)
	if err != nil {
		return err
	}
	after := truth.Through()
	everything := &pb.WatchCreateRequest{Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: after + 1}
	if err := stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: everything}}); err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		switch {
		case err != nil:
			return err
		case resp.CompactRevision != 0:
			if truth.Through() < resp.CompactRevision-1 {
				truth.disputeNow("etcd compacted to %d before the truth, at %d, was known", resp.CompactRevision, truth.Through())
			}
			return errCompacted
		case resp.Canceled:
			return errors.New(resp.CancelReason)
		}
		now := time.Now()
		changes := make([]Change, 0, len(resp.Events))
		for _, event := range resp.Events {
			c := Change{Revision: event.Kv.ModRevision, Key: string(event.Kv.Key), At: now}
			if event.Type == mvccpb.Event_PUT {
				c.Value = append([]byte{}, event.Kv.Value...)
			}
			changes = append(changes, c)
		}
		truth.Add(changes)
	}
}
