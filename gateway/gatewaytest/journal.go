package gatewaytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Journal has all writes to an etcd, by any program, since it was opened: a watch of every key.
type Journal struct {
	stream pb.Watch_WatchClient
	etcd   *Keys

	mu      sync.Mutex // guards the fields below
	seen    int64      // every change up to this revision is in changes
	changes []Change
	err     error // the reason for the end of the watch
}

// Change is a write of one key.
type Change struct {
	Key      string
	Revision int64
	Deleted  bool
	Value    string // empty: deleted
}

func (c Change) String() string {
	if c.Deleted {
		return fmt.Sprintf("%s was deleted in revision %d", c.Key, c.Revision)
	}
	return fmt.Sprintf("%s was put in revision %d: %q", c.Key, c.Revision, c.Value)
}

// Follow opens a journal of all writes after the revision. It is closed with the test.
func (k *Keys) Follow(tb testing.TB, after int64) *Journal {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	stream, err := pb.NewWatchClient(k.conn).Watch(ctx)
	if err == nil {
		err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
			Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: after + 1,
		}}})
	}
	if err != nil {
		cancel()
		tb.Fatalf("etcd: %v", err)
	}
	j := &Journal{stream: stream, etcd: k, seen: after}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.read()
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
	})
	return j
}

// read records the events of etcd until the stream ends.
func (j *Journal) read() {
	for {
		answer, err := j.stream.Recv()
		if err == nil && answer.Canceled {
			err = fmt.Errorf("the watch was cancelled: %s (compacted up to %d)", answer.CancelReason, answer.CompactRevision)
		}
		j.mu.Lock()
		if err != nil {
			j.err = err
			j.mu.Unlock()
			return
		}
		for _, event := range answer.Events {
			j.changes = append(j.changes, Change{
				Key: string(event.Kv.Key), Revision: event.Kv.ModRevision, Deleted: event.Type == mvccpb.DELETE, Value: string(event.Kv.Value),
			})
		}
		if len(answer.Events) == 0 && !answer.Created {
			j.seen = max(j.seen, answer.Header.Revision) // etcd has sent all before it
		}
		j.mu.Unlock()
	}
}

// UpTo returns every change up to a revision, in the order of etcd.
func (j *Journal) UpTo(tb testing.TB, revision int64) []Change {
	tb.Helper()
	var changes []Change
	Until(tb, fmt.Sprintf("a watch that has all up to revision %d", revision), func() bool {
		if err := j.stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}); err != nil {
			tb.Fatalf("etcd: %v", err)
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.err != nil {
			tb.Fatalf("etcd: %v", j.err)
		}
		changes = slices.Clone(j.changes)
		return j.seen >= revision
	})
	return slices.DeleteFunc(changes, func(c Change) bool { return c.Revision > revision })
}

// Now returns every change up to etcd's newest revision, and that revision.
func (j *Journal) Now(tb testing.TB) (changes []Change, revision int64) {
	tb.Helper()
	revision = j.etcd.Revision(tb)
	return j.UpTo(tb, revision), revision
}
