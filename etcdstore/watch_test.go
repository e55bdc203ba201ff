package etcdstore_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
)

// next is Next with a timeout.
func next(t *testing.T, w etcdstore.Watcher) (etcdstore.Batch, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return w.Next(ctx)
}

// A watch ends with ErrUnavailable when its etcd is gone, and does not wait; the next watch continues at its revision.
func TestWatchOfAnEtcdThatGoes(t *testing.T) {
	t.Parallel() // an etcd with open watches takes seconds to close
	cfg := embedded.Config{DataDir: t.TempDir(), ClientURL: "http://" + deadAddress(t)}
	server, err := embedded.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, server.Endpoints()...)
	created, err := e.Create(t.Context(), "/a", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	w := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: created - 1})
	defer w.Close()
	batch, err := next(t, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; { // progress may come before the end
		batch.Events = nil
		_, err = next(t, w)
	}
	if !errors.Is(err, etcdstore.ErrUnavailable) {
		t.Errorf("Next: %v, want ErrUnavailable", err)
	}
	if err := w.RequestProgress(t.Context()); !errors.Is(err, etcdstore.ErrUnavailable) {
		t.Errorf("RequestProgress: %v, want ErrUnavailable", err)
	}

	start(t, cfg)
	if err := e.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	deleted, err := e.Delete(t.Context(), "/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	again := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: batch.Through, Previous: true})
	defer again.Close()
	got, err := next(t, again)
	if got.Received.IsZero() {
		t.Error("a batch does not say when it was received")
	}
	want := etcdstore.Batch{Through: deleted, Received: got.Received, Events: []etcdstore.Event{
		{Revision: deleted, Key: "/a", Prev: &etcdstore.KV{Key: "/a", Value: []byte("1"), Created: created, Modified: created, Version: 1}},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("resumed: %v (-want +got):\n%s", err, diff)
	}
}

func TestCloseEndsWatches(t *testing.T) {
	server := startEtcd(t)
	t.Run("connected", func(t *testing.T) { testCloseEndsWatches(t, open(t, server.Endpoints()...)) })
	t.Run("in process", func(t *testing.T) { testCloseEndsWatches(t, openWith(t, inProcess(server))) })
}

func testCloseEndsWatches(t *testing.T, e *etcdstore.Etcd) {
	t.Helper()
	w := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})
	if _, err := e.Create(t.Context(), "/"+t.Name(), nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil { // with a batch that the test has not read
		t.Fatal(err)
	}
	for name, w := range map[string]etcdstore.Watcher{"open": w, "opened after it": e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})} {
		if _, err := next(t, w); !errors.Is(err, etcdstore.ErrClosed) {
			t.Errorf("watch %s: %v, want ErrClosed", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // much shorter than the retries of the client
	defer cancel()
	if _, _, err := e.Get(ctx, "/a"); !errors.Is(err, etcdstore.ErrClosed) {
		t.Errorf("Get: %v, want ErrClosed", err)
	}
}

// event returns a put of key at a revision, as etcd sends it; a create, unless created is earlier.
func event(key string, created, modified int64) *mvccpb.Event {
	return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), CreateRevision: created, ModRevision: modified}}
}

func response(header int64, events ...*mvccpb.Event) *pb.WatchResponse {
	return &pb.WatchResponse{Header: &pb.ResponseHeader{Revision: header}, Events: events}
}

func fragment(events ...*mvccpb.Event) *pb.WatchResponse {
	r := response(100, events...)
	r.Fragment = true
	return r
}

// replay is a fake etcd that answers a watch with responses, and ends the stream with result.
func replay(result error, responses ...*pb.WatchResponse) *fakeEtcd {
	return &fakeEtcd{onWatch: func(s pb.Watch_WatchServer) error {
		if _, err := s.Recv(); err != nil {
			return err
		}
		for _, r := range append([]*pb.WatchResponse{{Created: true, Header: &pb.ResponseHeader{Revision: 50}}}, responses...) {
			if err := s.Send(r); err != nil {
				return err
			}
		}
		return result
	}}
}

// step is the short form of a batch: its revisions, and Through.
type step struct {
	Revisions []etcdstore.Revision
	Through   etcdstore.Revision
}

// follow reads a watch of "/a" after 10 to its end.
func follow(t *testing.T, f *fakeEtcd) ([]step, error) {
	t.Helper()
	w := open(t, f.serve(t)).Watch(t.Context(), "/a", etcdstore.WatchOptions{After: 10})
	defer w.Close()
	var steps []step
	for {
		batch, err := next(t, w)
		if err != nil {
			return steps, err
		}
		s := step{Through: batch.Through}
		for _, ev := range batch.Events {
			s.Revisions = append(s.Revisions, ev.Revision)
		}
		steps = append(steps, s)
	}
}

// Through is the revision of the last event, and that of the header only for progress; fragments make whole revisions.
func TestWatchBatches(t *testing.T) {
	for name, tc := range map[string]struct {
		responses []*pb.WatchResponse
		want      []step
	}{
		"the header of events is not progress": {
			[]*pb.WatchResponse{response(99, event("/a", 11, 11), event("/a", 11, 12)), response(99, event("/a", 11, 13))},
			[]step{{[]etcdstore.Revision{11, 12}, 12}, {[]etcdstore.Revision{13}, 13}},
		},
		"progress": {
			[]*pb.WatchResponse{response(20), response(20), response(30, event("/a", 21, 21))},
			[]step{{nil, 20}, {nil, 20}, {[]etcdstore.Revision{21}, 21}},
		},
		"fragments are cut at revisions": {
			[]*pb.WatchResponse{
				fragment(event("/a", 11, 11), event("/a1", 12, 12)), fragment(event("/a2", 12, 12)),
				response(100, event("/a3", 12, 12), event("/a", 11, 13)), response(100, event("/a", 11, 14)),
			},
			[]step{{[]etcdstore.Revision{11}, 11}, {[]etcdstore.Revision{12, 12, 12, 13}, 13}, {[]etcdstore.Revision{14}, 14}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := replay(nil, tc.responses...)
			f.onRange = func(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) { return &pb.RangeResponse{}, nil }
			got, err := follow(t, f)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
			if !errors.Is(err, etcdstore.ErrUnavailable) {
				t.Errorf("a stream that ends without an error: %v, want ErrUnavailable", err)
			}
		})
	}
}

// A response that breaks etcd's promises ends the watch.
func TestWatchChecksEtcd(t *testing.T) {
	for name, responses := range map[string][]*pb.WatchResponse{
		"an event not later than the watch":    {response(50, event("/a", 10, 10))},
		"a revision twice":                     {response(50, event("/a", 11, 11)), response(50, event("/a1", 11, 11))},
		"revisions out of order":               {response(50, event("/a", 12, 12), event("/a1", 11, 11))},
		"out of order between fragments":       {fragment(event("/a", 12, 12)), response(50, event("/a1", 11, 11))},
		"another prefix":                       {response(50, event("/b", 11, 11))},
		"progress that goes back":              {response(20), response(19)},
		"progress before its events":           {response(50, event("/a", 12, 12)), response(11)},
		"progress in the middle of a revision": {fragment(event("/a", 12, 12)), response(13)},
		"an event not later than progress":     {response(20), response(50, event("/a", 20, 20))},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := follow(t, replay(errors.New("the end was reached"), responses...))
			if !errors.Is(err, etcdstore.ErrUnavailable) || !strings.Contains(err.Error(), "violated the watch protocol") {
				t.Errorf("%v, want ErrUnavailable for a broken promise", err)
			}
		})
	}
}

func TestWatchEndedByEtcd(t *testing.T) {
	for name, tc := range map[string]struct {
		last *pb.WatchResponse
		want error
	}{
		"permission denied": {
			&pb.WatchResponse{Created: true, Canceled: true, WatchId: -1, CancelReason: "rpc error: code = PermissionDenied desc = etcdserver: permission denied"},
			etcdstore.ErrDenied,
		},
		"token too old": {
			&pb.WatchResponse{Created: true, Canceled: true, WatchId: -1, CancelReason: "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token"},
			etcdstore.ErrDenied,
		},
		"no reason": {&pb.WatchResponse{Canceled: true}, etcdstore.ErrUnavailable},
		"compacted": {&pb.WatchResponse{Canceled: true, CompactRevision: 40}, &etcdstore.CompactedError{}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := follow(t, replay(nil, tc.last))
			if !isKind(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			var compacted *etcdstore.CompactedError
			if errors.As(err, &compacted) && *compacted != (etcdstore.CompactedError{Requested: 10, Compacted: 40}) {
				t.Errorf("%+v, want requested 10, compacted 40", *compacted)
			}
		})
	}
}

// The store reads the previous value that etcd left out without need.
func TestWatchFindsPrevious(t *testing.T) {
	f := replay(nil, response(50, event("/a", 5, 11)))
	f.onRange = func(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
		return &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: r.Key, CreateRevision: 5, ModRevision: r.Revision}}}, nil
	}
	w := open(t, f.serve(t)).Watch(t.Context(), "/a", etcdstore.WatchOptions{After: 10, Previous: true})
	defer w.Close()
	batch, err := next(t, w)
	if err != nil {
		t.Fatal(err)
	}
	want := &etcdstore.KV{Key: "/a", Created: 5, Modified: 10}
	if diff := cmp.Diff(want, batch.Events[0].Prev); diff != "" {
		t.Errorf("Prev (-want +got):\n%s", diff)
	}
}

// etcd buffers the events that the caller does not read; only a few are under way.
func TestWatchHoldsBack(t *testing.T) {
	const size, all = 1 << 20, 200
	var sent atomic.Int64
	f := &fakeEtcd{onWatch: func(s pb.Watch_WatchServer) error {
		for rev := int64(11); rev < 11+all; rev++ {
			ev := event("/a", rev, rev)
			ev.Kv.Value = make([]byte, size)
			if err := s.Send(response(rev, ev)); err != nil {
				return err
			}
			sent.Add(1)
		}
		return nil
	}}
	w := open(t, f.serve(t)).Watch(t.Context(), "/a", etcdstore.WatchOptions{After: 10})
	defer w.Close()
	if _, err := next(t, w); err != nil {
		t.Fatal(err)
	}
	for before := int64(-1); before != sent.Load(); { // until the number no longer changes
		before = sent.Load()
		<-time.After(300 * time.Millisecond)
	}
	t.Logf("%d MiB are under way", sent.Load())
	if n := sent.Load(); n > 50 {
		t.Errorf("etcd has sent %d MiB that the caller has not read", n)
	}
	for rev := etcdstore.Revision(12); rev < 11+all; rev++ {
		batch, err := next(t, w)
		if err != nil || batch.Through != rev {
			t.Fatalf("through %d, %v; want %d", batch.Through, err, rev)
		}
	}
}

// The store requests progress only after etcd has created the watch, because an earlier answer may overtake the first events and report
// them as delivered.
func TestProgressIsNotAskedForTooSoon(t *testing.T) {
	announce, asked := make(chan struct{}), make(chan int, 1)
	f := &fakeEtcd{onWatch: func(s pb.Watch_WatchServer) error {
		if _, err := s.Recv(); err != nil {
			return err
		}
		<-announce
		if err := s.Send(&pb.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 50}}); err != nil {
			return err
		}
		requests := 0
		for {
			if _, err := s.Recv(); err != nil {
				asked <- requests
				return err
			}
			requests++
			if err := s.Send(response(20)); err != nil {
				return err
			}
		}
	}}
	w := open(t, f.serve(t)).Watch(t.Context(), "/a", etcdstore.WatchOptions{After: 10})
	defer w.Close()
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.RequestProgress(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("progress before the watch is created: %v", err)
	}
	close(announce)
	if err := w.RequestProgress(t.Context()); err != nil {
		t.Fatal(err)
	}
	if batch, err := next(t, w); err != nil || batch.Through != 20 {
		t.Errorf("progress: %v, error %v", batch, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := <-asked; n != 1 {
		t.Errorf("etcd was asked %d times, want once", n)
	}
}
