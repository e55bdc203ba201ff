package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds each wait for something that must happen.
const patience = 20 * time.Second

// startEtcd runs an etcd until the test ends.
func startEtcd(t *testing.T) *embedded.Server {
	t.Helper()
	return start(t, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
}

// startConfigured runs an etcd with a configuration file that has some more lines.
func startConfigured(t *testing.T, lines ...string) *embedded.Server {
	t.Helper()
	lines = append(lines,
		"data-dir: "+t.TempDir(),
		"listen-client-urls: http://127.0.0.1:0",
		"advertise-client-urls: http://127.0.0.1:0",
		"listen-peer-urls: http://127.0.0.1:0",
	)
	file := filepath.Join(t.TempDir(), "etcd.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, embedded.Config{ConfigFile: file})
}

func start(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close etcd: %v", err)
		}
	})
	return server
}

// open opens the store at endpoints and closes it with the test.
func open(t *testing.T, endpoints ...string) *etcdstore.Etcd {
	t.Helper()
	return openWith(t, etcdstore.Config{Endpoints: endpoints})
}

func openWith(t *testing.T, cfg etcdstore.Config) *etcdstore.Etcd {
	t.Helper()
	e, err := etcdstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// backend is an Etcd with a second client, for the operations of a foreign program that the suite needs.
type backend struct {
	*etcdstore.Etcd
	t       *testing.T
	foreign *clientv3.Client
}

var _ storetest.Backend = (*backend)(nil)

func newBackend(t *testing.T, server *embedded.Server) *backend {
	t.Helper()
	return &backend{Etcd: open(t, server.Endpoints()...), t: t, foreign: foreignClient(t, clientv3.Config{Endpoints: server.Endpoints()})}
}

// foreignClient is another program's client.
func foreignClient(t *testing.T, cfg clientv3.Config) *clientv3.Client {
	t.Helper()
	cfg.Logger = zap.NewNop()
	c, err := clientv3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the other client: %v", err)
		}
	})
	return c
}

// Compact implements storetest.Backend.
func (b *backend) Compact(rev etcdstore.Revision) error {
	_, err := b.foreign.Compact(b.t.Context(), int64(rev))
	return err
}

// Txn implements storetest.Backend.
func (b *backend) Txn(puts map[string][]byte, deletes []string) etcdstore.Revision {
	b.t.Helper()
	var ops []clientv3.Op
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		ops = append(ops, clientv3.OpPut(key, string(puts[key])))
	}
	for _, key := range slices.Sorted(slices.Values(deletes)) {
		ops = append(ops, clientv3.OpDelete(key))
	}
	resp, err := b.foreign.Txn(b.t.Context()).Then(ops...).Commit()
	if err != nil {
		b.t.Fatalf("Txn: %v", err)
	}
	return etcdstore.Revision(resp.Header.Revision)
}

func TestStore(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	storetest.Run(t, func(t *testing.T) storetest.Backend { return newBackend(t, server) })
}

// An etcd in this process keeps the same promises without a connection.
func TestStoreWithoutConnection(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		b := newBackend(t, server)
		b.Etcd = openWith(t, inProcess(server))
		return b
	})
}

// inProcess returns the options with which the process of an etcd reaches it.
func inProcess(server *embedded.Server) etcdstore.Config {
	kv, watch := server.Local()
	return etcdstore.Config{Endpoints: server.Endpoints(), KV: kv, Watch: watch}
}

// A List without a limit asks for pages, all of the revision of the first one.
func TestListOfMoreThanAPage(t *testing.T) {
	t.Parallel()
	b := newBackend(t, startEtcd(t))
	const n, perTxn = 10_100, 100
	for i := range n / perTxn {
		puts := map[string][]byte{}
		for j := range perTxn {
			puts[fmt.Sprintf("/many/%05d", i*perTxn+j)] = nil
		}
		b.Txn(puts, nil)
	}
	page, err := b.List(t.Context(), "/many/", etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.KVs) != n || page.Remaining != 0 {
		t.Fatalf("%d keys and %d remaining, want %d and none", len(page.KVs), page.Remaining, n)
	}
	for i, kv := range page.KVs {
		if want := fmt.Sprintf("/many/%05d", i); kv.Key != want {
			t.Fatalf("key %d: %s, want %s", i, kv.Key, want)
		}
	}
}

// All pages of a List are of the revision of the first one, even if etcd gets writes meanwhile.
func TestListPinsItsPages(t *testing.T) {
	header, keys := int64(20), []string{"/a", "/b", "/c"}
	var asked []int64
	f := &fakeEtcd{onRange: func(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
		asked = append(asked, r.Revision)
		header++
		n := len(asked)
		return &pb.RangeResponse{
			Header: &pb.ResponseHeader{Revision: header},
			Kvs:    []*mvccpb.KeyValue{{Key: []byte(keys[n-1]), CreateRevision: 1, ModRevision: 1}},
			More:   n < len(keys),
			Count:  int64(len(keys) - n + 1),
		}, nil
	}}
	page, err := open(t, f.serve(t)).List(t.Context(), "/", etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{0, 21, 21}, asked); diff != "" {
		t.Errorf("revisions asked for (-want +got):\n%s", diff)
	}
	if page.Revision != 21 || len(page.KVs) != len(keys) || page.Remaining != 0 {
		t.Errorf("page %+v, want %d keys at 21", page, len(keys))
	}
}

// The compactor on an etcd compacts revisions older than the history, and no others.
func TestCompact(t *testing.T) {
	e := open(t, startEtcd(t).Endpoints()...)
	first, err := e.Create(t.Context(), "/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	ended := make(chan error, 1)
	go func() {
		ended <- e.Compact(ctx, 500*time.Millisecond, func(context.Context) error { return nil }, slog.New(slog.DiscardHandler))
	}()
	var compacted *etcdstore.CompactedError
	for err = nil; !errors.As(err, &compacted) && ctx.Err() == nil; {
		_, err = e.List(ctx, "/a", etcdstore.ListOptions{At: first})
	}
	if !errors.As(err, &compacted) {
		t.Errorf("revision %d was not compacted: %v", first, err)
	}
	kv, now, err := e.Get(ctx, etcdstore.BookkeepingKey)
	if err != nil {
		t.Fatal(err)
	}
	if done, failed := e.Compactions(); done == 0 || failed > 0 {
		t.Errorf("it counts %d compactions and %d failures", done, failed)
	}
	if _, err := e.List(ctx, "/a", etcdstore.ListOptions{At: now - 1}); err != nil {
		t.Errorf("revision %d of %d, with marks %s: %v", now-1, now, kv.Value, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Compact: %v, want context.Canceled", err)
	}
}
