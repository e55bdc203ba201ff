package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"revtail/etcdstore"
)

// Without an etcd, requests without a deadline fail within a limit with ErrUnavailable, because nothing was sent.
func TestUnreachable(t *testing.T) {
	for name, address := range map[string]func(*testing.T) string{"no listener": deadAddress, "no response": silentAddress} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, address(t))
			var wg sync.WaitGroup
			for what, call := range map[string]func() error{
				"Get":      func() error { _, _, err := e.Get(t.Context(), "/a"); return err },
				"List":     func() error { _, err := e.List(t.Context(), "/a", etcdstore.ListOptions{}); return err },
				"Revision": func() error { _, err := e.Revision(t.Context()); return err },
				"Create":   func() error { _, err := e.Create(t.Context(), "/a", nil); return err },
				"Update":   func() error { _, err := e.Update(t.Context(), "/a", nil, 1); return err },
				"Delete":   func() error { _, err := e.Delete(t.Context(), "/a", 0); return err },
				"Watch": func() error {
					w := e.Watch(t.Context(), "/a", etcdstore.WatchOptions{After: 1})
					defer w.Close()
					_, err := w.Next(t.Context())
					return err
				},
			} {
				wg.Go(func() {
					start := time.Now()
					err := call()
					if !errors.Is(err, etcdstore.ErrUnavailable) || errors.Is(err, etcdstore.ErrUnknownOutcome) {
						t.Errorf("%s: %v, want ErrUnavailable", what, err)
					}
					if took := time.Since(start); took > patience {
						t.Errorf("%s took %s", what, took)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestAwait(t *testing.T) {
	t.Run("answers", func(t *testing.T) {
		if err := open(t, startEtcd(t).Endpoints()...).Await(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("names endpoint and cause", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		address := deadAddress(t)
		err := open(t, address).Await(ctx)
		for _, want := range []error{etcdstore.ErrUnavailable, context.DeadlineExceeded} {
			if !errors.Is(err, want) {
				t.Errorf("%v does not wrap %v", err, want)
			}
		}
		for _, want := range []string{address, "connection refused"} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	})
	t.Run("closed", func(t *testing.T) {
		e := open(t, deadAddress(t))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if err := e.Await(t.Context()); !errors.Is(err, etcdstore.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, cfg := range map[string]etcdstore.Config{
		"no endpoints":          {},
		"user without password": {Endpoints: []string{"127.0.0.1:1"}, Username: "u"},
		"incomplete member":     {Endpoints: []string{"127.0.0.1:1"}, Watch: pb.NewWatchClient(nil)},
		"password without user": {Endpoints: []string{"127.0.0.1:1"}, Password: func() string { return "p" }},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := etcdstore.Open(cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}

// answers are the errors of etcd, with the errors of the store for a read and for a write that was sent.
var answers = map[string]struct {
	err         error
	read, write error
}{
	"compacted":         {rpctypes.ErrGRPCCompacted, &etcdstore.CompactedError{}, &etcdstore.CompactedError{}},
	"future":            {rpctypes.ErrGRPCFutureRev, &etcdstore.FutureError{}, &etcdstore.FutureError{}},
	"no space":          {rpctypes.ErrGRPCNoSpace, etcdstore.ErrStorageFull, etcdstore.ErrStorageFull},
	"no room":           {status.Errorf(codes.ResourceExhausted, "%v: 1 MiB left", rpctypes.ErrNoSpace), &etcdstore.NoRoomError{}, &etcdstore.NoRoomError{}},
	"too large":         {rpctypes.ErrGRPCRequestTooLarge, etcdstore.ErrTooLarge, etcdstore.ErrTooLarge},
	"message too large": {status.Error(codes.ResourceExhausted, "received message larger than max"), etcdstore.ErrTooLarge, etcdstore.ErrTooLarge},
	"permission denied": {rpctypes.ErrGRPCPermissionDenied, etcdstore.ErrDenied, etcdstore.ErrDenied},
	"wrong password":    {rpctypes.ErrGRPCAuthFailed, etcdstore.ErrDenied, etcdstore.ErrDenied},
	"no user":           {rpctypes.ErrGRPCUserEmpty, etcdstore.ErrDenied, etcdstore.ErrDenied},
	"no leader":         {rpctypes.ErrGRPCNoLeader, etcdstore.ErrUnavailable, etcdstore.ErrUnavailable},
	"too many requests": {rpctypes.ErrGRPCRequestTooManyRequests, etcdstore.ErrUnavailable, etcdstore.ErrUnavailable},
	"learner":           {rpctypes.ErrGRPCNotSupportedForLearner, etcdstore.ErrUnavailable, etcdstore.ErrUnavailable},
	"corrupt":           {rpctypes.ErrGRPCCorrupt, etcdstore.ErrUnavailable, etcdstore.ErrUnavailable},
	"unimplemented":     {status.Error(codes.Unimplemented, "unknown service"), etcdstore.ErrUnavailable, etcdstore.ErrUnavailable},
	"bad request":       {rpctypes.ErrGRPCDuplicateKey, etcdstore.ErrInvalid, etcdstore.ErrInvalid},

	"leader changed":   {rpctypes.ErrGRPCLeaderChanged, etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"timeout":          {rpctypes.ErrGRPCTimeout, etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"leader fail":      {rpctypes.ErrGRPCTimeoutDueToLeaderFail, etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"stopped":          {rpctypes.ErrGRPCStopped, etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"etcd's deadline":  {rpctypes.ErrGRPCDeadlineExceeded, etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"etcd's cancel":    {rpctypes.ErrGRPCCanceled, etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"a proxy's cancel": {status.Error(codes.Canceled, "stream reset"), etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"unavailable":      {status.Error(codes.Unavailable, "transport is closing"), etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"internal":         {status.Error(codes.Internal, "stream terminated"), etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"unknown":          {status.Error(codes.Unknown, "?"), etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
	"plain error":      {errors.New("plain"), etcdstore.ErrUnavailable, etcdstore.ErrUnknownOutcome},
}

// isKind is errors.Is, but for the three error types it compares the type.
func isKind(err, kind error) bool {
	switch kind.(type) { //nolint:errorlint // the kinds of the table are not wrapped
	case *etcdstore.CompactedError:
		return errors.As(err, new(*etcdstore.CompactedError))
	case *etcdstore.FutureError:
		return errors.As(err, new(*etcdstore.FutureError))
	case *etcdstore.NoRoomError:
		return errors.As(err, new(*etcdstore.NoRoomError)) && errors.Is(err, etcdstore.ErrStorageFull)
	}
	return errors.Is(err, kind)
}

func TestErrorsOfEtcd(t *testing.T) {
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeEtcd{
				onRange: func(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) { return nil, tc.err },
				onTxn:   func(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) { return nil, tc.err },
				onWatch: func(pb.Watch_WatchServer) error { return tc.err },
			}
			e := open(t, f.serve(t))
			_, err := e.Create(t.Context(), "/a", nil)
			if !isKind(err, tc.write) || !errors.Is(tc.write, etcdstore.ErrUnknownOutcome) && errors.Is(err, etcdstore.ErrUnknownOutcome) {
				t.Errorf("write: %v, want %v", err, tc.write)
			}
			if n := f.txns.Load(); n != 1 {
				t.Errorf("the write was sent %d times", n)
			}
			w := e.Watch(t.Context(), "/a", etcdstore.WatchOptions{After: 1})
			defer w.Close()
			if _, err := w.Next(t.Context()); !isKind(err, tc.read) {
				t.Errorf("watch: %v, want %v", err, tc.read)
			}
			if _, err := e.List(t.Context(), "/a", etcdstore.ListOptions{At: 7}); !isKind(err, tc.read) {
				t.Errorf("read: %v, want %v", err, tc.read)
			}
		})
	}
}

// The errors about revisions name the revision.
func TestRevisionErrorsNameTheRevision(t *testing.T) {
	f := &fakeEtcd{onRange: func(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
		return nil, rpctypes.ErrGRPCCompacted
	}}
	_, err := open(t, f.serve(t)).List(t.Context(), "/a", etcdstore.ListOptions{At: 7})
	var compacted *etcdstore.CompactedError
	if !errors.As(err, &compacted) || compacted.Requested != 7 {
		t.Errorf("%v, want a *CompactedError of 7", err)
	}
}

// Members without a leader must refuse each request at once, not after their own time limit.
func TestRequireLeader(t *testing.T) {
	check := func(ctx context.Context) error {
		if got := metadata.ValueFromIncomingContext(ctx, rpctypes.MetadataRequireLeaderKey); !slices.Equal(got, []string{rpctypes.MetadataHasLeader}) {
			t.Errorf("%s: %q", rpctypes.MetadataRequireLeaderKey, got)
		}
		return rpctypes.ErrGRPCPermissionDenied
	}
	f := &fakeEtcd{
		onRange: func(ctx context.Context, _ *pb.RangeRequest) (*pb.RangeResponse, error) { return nil, check(ctx) },
		onTxn:   func(ctx context.Context, _ *pb.TxnRequest) (*pb.TxnResponse, error) { return nil, check(ctx) },
		onWatch: func(s pb.Watch_WatchServer) error { return check(s.Context()) },
	}
	e := open(t, f.serve(t))
	w := e.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})
	defer w.Close()
	_, read := e.Revision(t.Context())
	_, written := e.Create(t.Context(), "/a", nil)
	_, watched := w.Next(t.Context())
	for what, err := range map[string]error{"read": read, "write": written, "watch": watched} {
		if !errors.Is(err, etcdstore.ErrDenied) {
			t.Errorf("%s: %v, want what the server said", what, err)
		}
	}
}

// The outcome of a write that was sent and not answered is unknown, whether the caller or the store stops waiting.
func TestUnansweredWrite(t *testing.T) {
	t.Parallel()
	received := make(chan struct{}, 1)
	f := &fakeEtcd{onTxn: func(ctx context.Context, _ *pb.TxnRequest) (*pb.TxnResponse, error) {
		received <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	e := open(t, f.serve(t))
	t.Run("cancelled by the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { <-received; cancel() }()
		_, err := e.Create(ctx, "/a", nil)
		for _, want := range []error{etcdstore.ErrUnknownOutcome, context.Canceled} {
			if !errors.Is(err, want) {
				t.Errorf("%v does not wrap %v", err, want)
			}
		}
	})
	t.Run("given up by the store", func(t *testing.T) {
		_, err := e.Create(t.Context(), "/a", nil)
		if !errors.Is(err, etcdstore.ErrUnknownOutcome) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want ErrUnknownOutcome, and no deadline error, because the caller has set none", err)
		}
		<-received
	})
	if n := f.txns.Load(); n != 2 {
		t.Errorf("2 writes were sent %d times", n)
	}
}

// Each write is a single transaction. A conflict returns the stored value without a read.
func TestWritesAreOneRequest(t *testing.T) {
	standing := &mvccpb.KeyValue{Key: []byte("/a"), Value: []byte("v"), CreateRevision: 3, ModRevision: 7}
	for _, succeeded := range []bool{true, false} {
		var reads atomic.Int32
		f := &fakeEtcd{
			onTxn: func(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
				resp := &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: 9}, Succeeded: succeeded}
				for range r.Failure {
					found := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{standing}, Count: 1}
					resp.Responses = append(resp.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: found}})
				}
				return resp, nil
			},
			onRange: func(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
				reads.Add(1)
				return nil, errors.New("not asked for")
			},
		}
		e := open(t, f.serve(t))
		for name, write := range map[string]func() error{
			"Create": func() error { _, err := e.Create(t.Context(), "/a", nil); return err },
			"CreateGuarded": func() error {
				_, err := e.CreateGuarded(t.Context(), "/a", nil, etcdstore.Guard{Key: "/g", Modified: 1})
				return err
			},
			"Update": func() error { _, err := e.Update(t.Context(), "/a", nil, 5); return err },
			"Delete": func() error { _, err := e.Delete(t.Context(), "/a", 5); return err },
		} {
			f.txns.Store(0)
			err := write()
			if n := f.txns.Load(); n != 1 || reads.Load() != 0 || (err == nil) != succeeded {
				t.Errorf("%s: %d transactions, %d reads, %v", name, n, reads.Load(), err)
			}
			conflict, ok := errors.AsType[*etcdstore.ConflictError](err)
			if isCAS := name == "Update" || name == "Delete"; ok != (isCAS && !succeeded) || ok && (conflict.KV.Modified != 7 || string(conflict.KV.Value) != "v") {
				t.Errorf("%s: %v, want the stored value", name, err)
			}
		}
	}
}

// etcd refuses a request that is too large in both of its layers.
func TestTooLarge(t *testing.T) {
	server := startEtcd(t)
	for name, e := range map[string]*etcdstore.Etcd{"connected": open(t, server.Endpoints()...), "in process": openWith(t, inProcess(server))} {
		for _, size := range []int{1600 << 10, 3 << 20} {
			if _, err := e.Create(t.Context(), "/a", make([]byte, size)); !errors.Is(err, etcdstore.ErrTooLarge) {
				t.Errorf("%s, %d bytes: %v, want ErrTooLarge", name, size, err)
			}
		}
	}
}
