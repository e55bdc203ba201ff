package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"revtail/etcdstore"
)

// scanKeys returns the keys of a scan and its error, and checks that its pages are of one revision and count the remaining keys.
func scanKeys(t *testing.T, s etcdstore.Store, prefix string, want int) (keys []string, revision etcdstore.Revision, err error) {
	t.Helper()
	for page, err := range etcdstore.Scan(t.Context(), s, prefix, 0) {
		if err != nil {
			return keys, revision, err
		}
		if revision == 0 {
			revision = page.Revision
		}
		for _, kv := range page.KVs {
			keys = append(keys, kv.Key)
		}
		if page.Revision != revision || int(page.Remaining) != want-len(keys) {
			t.Errorf("a page of revision %d with %d keys after it; want revision %d and %d keys", page.Revision, page.Remaining, revision, want-len(keys))
		}
	}
	return keys, revision, nil
}

// streamed is an etcd with the keys /a/00 to /a/29 at revision 7, which sends them in messages of ten.
func streamed() *fakeEtcd {
	keys := make([]*mvccpb.KeyValue, 30)
	for i := range keys {
		keys[i] = &mvccpb.KeyValue{Key: fmt.Appendf(nil, "/a/%02d", i), Value: []byte("v"), CreateRevision: 2, ModRevision: 2, Version: 1}
	}
	return &fakeEtcd{
		onRange: func(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
			out := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 7}, Count: int64(len(keys))}
			if r.CountOnly {
				return out, nil
			}
			first := slices.IndexFunc(keys, func(kv *mvccpb.KeyValue) bool { return string(kv.Key) >= string(r.Key) })
			last := min(first+int(r.Limit), len(keys))
			out.Kvs, out.Count = keys[first:last], int64(len(keys)-first)
			return out, nil
		},
		onStream: func(r *pb.RangeRequest, s pb.KV_RangeStreamServer) error {
			if r.Revision != 7 {
				return fmt.Errorf("a stream at revision %d", r.Revision)
			}
			rest := slices.DeleteFunc(slices.Clone(keys), func(kv *mvccpb.KeyValue) bool { return string(kv.Key) < string(r.Key) })
			for page := range slices.Chunk(rest, 10) {
				if err := s.Send(&pb.RangeStreamResponse{RangeResponse: &pb.RangeResponse{Kvs: page}}); err != nil {
					return err
				}
			}
			return s.Send(&pb.RangeStreamResponse{RangeResponse: &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 8}}})
		},
	}
}

// after returns a stream that sends one message of another one, and then fails. Every stream does so if always.
func (f *fakeEtcd) after(failure error, always bool) {
	next, failed := f.onStream, false
	f.onStream = func(r *pb.RangeRequest, s pb.KV_RangeStreamServer) error {
		if failed && !always {
			return next(r, s)
		}
		failed = true
		_ = next(r, oneMessage{s, new(int)}) // its error is that of oneMessage
		return failure
	}
}

var errEnough = errors.New("enough")

// oneMessage is a stream that refuses the second message.
type oneMessage struct {
	pb.KV_RangeStreamServer
	sent *int
}

func (o oneMessage) Send(m *pb.RangeStreamResponse) error {
	if *o.sent++; *o.sent > 1 {
		return errEnough
	}
	return o.KV_RangeStreamServer.Send(m)
}

// A stream that breaks is continued after its last key; one that breaks again without a key, or for good, is the error of the scan.
func TestScanOfBrokenStreams(t *testing.T) {
	broken := status.Error(codes.Unavailable, "transport is closing")
	for name, test := range map[string]struct {
		change func(*fakeEtcd)
		keys   int
		want   error
	}{
		"whole":       {func(*fakeEtcd) {}, 30, nil},
		"broken once": {func(f *fakeEtcd) { f.after(broken, false) }, 30, nil},
		"often":       {func(f *fakeEtcd) { f.after(broken, true) }, 30, etcdstore.ErrUnavailable},
		"compacted":   {func(f *fakeEtcd) { f.after(rpctypes.ErrGRPCCompacted, false) }, 10, &etcdstore.CompactedError{}},
		"unreachable": {func(f *fakeEtcd) {
			f.onStream = func(*pb.RangeRequest, pb.KV_RangeStreamServer) error { return broken }
		}, 0, etcdstore.ErrUnavailable},
		"incomplete":   {func(f *fakeEtcd) { f.onStream = func(*pb.RangeRequest, pb.KV_RangeStreamServer) error { return nil } }, 0, etcdstore.ErrUnavailable},
		"too old etcd": {func(f *fakeEtcd) { f.onStream = f.UnimplementedKVServer.RangeStream }, 30, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := streamed()
			test.change(f)
			keys, revision, err := scanKeys(t, open(t, f.serve(t)), "/a/", 30)
			if test.want == nil && err != nil || test.want != nil && !isKind(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if len(keys) != test.keys || !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != test.keys || test.keys > 0 && revision != 7 {
				t.Errorf("%d keys of revision %d, want %d of revision 7: %q", len(keys), revision, test.keys, keys)
			}
		})
	}
}

// A consumer that stops frees the stream: the leak test of the package sees to that.
func TestScanStops(t *testing.T) {
	for page, err := range etcdstore.Scan(t.Context(), open(t, streamed().serve(t)), "/a/", 0) {
		if err != nil || len(page.KVs) == 0 {
			t.Errorf("the first page has %d keys: %v", len(page.KVs), err)
		}
		break
	}
}

// A scan is the state of one revision, whatever is written meanwhile, over a connection and without one.
func TestScanIsOfOneRevision(t *testing.T) {
	server := startEtcd(t)
	kv, watch := server.Local()
	for name, cfg := range map[string]etcdstore.Config{
		"connection": {Endpoints: server.Endpoints()},
		"direct":     {Endpoints: server.Endpoints(), KV: kv, Watch: watch},
	} {
		t.Run(name, func(t *testing.T) {
			e := openWith(t, cfg)
			prefix := "/" + name + "/"
			puts := etcdstore.Txn{}
			for i := range 100 {
				puts.Then = append(puts.Then, etcdstore.Op{Verb: etcdstore.Put, Key: fmt.Sprintf("%s%03d", prefix, i), Value: make([]byte, 100)})
			}
			done, err := e.Transact(t.Context(), puts)
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for page, err := range etcdstore.Scan(t.Context(), e, prefix, 0) {
				if err != nil {
					t.Fatal(err)
				}
				for _, kv := range page.KVs {
					if kv.Key != fmt.Sprintf("%s%03d", prefix, seen) || kv.Modified != done.Revision || page.Revision != done.Revision {
						t.Errorf("key %d is %q of revision %d, in a page of %d", seen, kv.Key, kv.Modified, page.Revision)
					}
					seen++
				}
				if _, err := e.Delete(t.Context(), fmt.Sprintf("%s%03d", prefix, 99-seen/10), 0); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Create(t.Context(), fmt.Sprintf("%s%03d-new", prefix, seen), nil); err != nil {
					t.Fatal(err)
				}
			}
			if seen != 100 {
				t.Errorf("%d keys", seen)
			}
			if keys, _, err := scanKeys(t, e, "/none/", 0); err != nil || len(keys) > 0 {
				t.Errorf("an empty prefix: %q, %v", keys, err)
			}
			if _, _, err := scanKeys(t, e, "", 0); !errors.Is(err, etcdstore.ErrInvalid) {
				t.Errorf("no prefix: %v, want ErrInvalid", err)
			}
		})
	}
}

// A compaction of the revision ends a scan of an etcd in this process, whose stream is never ahead.
func TestScanOfCompactedRevision(t *testing.T) {
	server := startEtcd(t)
	kv, watch := server.Local()
	e := openWith(t, etcdstore.Config{Endpoints: server.Endpoints(), KV: kv, Watch: watch})
	for i := range 100 {
		if _, err := e.Create(t.Context(), fmt.Sprintf("/a/%03d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	var failed error
	for page, err := range etcdstore.Scan(t.Context(), e, "/a/", 0) {
		failed = err
		if len(page.KVs) == 0 || page.KVs[0].Key != "/a/000" {
			continue
		}
		revision, err := e.Update(t.Context(), "/a/000", nil, page.KVs[0].Modified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := foreignClient(t, clientv3.Config{Endpoints: server.Endpoints()}).Compact(t.Context(), int64(revision)); err != nil {
			t.Fatal(err)
		}
	}
	if !isKind(failed, &etcdstore.CompactedError{}) {
		t.Errorf("error %v, want a *CompactedError", failed)
	}
}
