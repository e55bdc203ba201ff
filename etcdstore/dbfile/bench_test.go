package dbfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"revtail/etcdstore"
	"revtail/etcdstore/dbfile"
)

// generate makes the database of an etcd with a number of changes, of a fifth as many keys, with values of 1 to 3 KiB.
func generate(tb testing.TB, file string, changes int) {
	tb.Helper()
	db, err := bolt.Open(file, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		tb.Fatal(err)
	}
	value := make([]byte, 3<<10)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for i := range value {
		value[i] = byte(random.Uint32())
	}
	const batch = 10_000
	for from := 0; from < changes; from += batch {
		err := db.Update(func(tx *bolt.Tx) error {
			keys, err := tx.CreateBucketIfNotExists([]byte("key"))
			if err != nil {
				return err
			}
			if _, err := tx.CreateBucketIfNotExists([]byte("meta")); err != nil {
				return err
			}
			keys.FillPercent = 0.9 // as etcd
			for i := from; i < min(from+batch, changes); i++ {
				revision := int64(i + 2)
				kv := &mvccpb.KeyValue{
					Key:            fmt.Appendf(nil, "/registry/pods/namespace-%d/a-pod-with-a-name-%d", i%100, i%(changes/5)),
					CreateRevision: revision, ModRevision: revision, Version: 1, Value: value[random.IntN(1<<10) : 2<<10],
				}
				stored, err := proto.Marshal(kv)
				if err != nil {
					return err
				}
				at := make([]byte, 17)
				binary.BigEndian.PutUint64(at, uint64(revision)) //nolint:gosec // positive
				at[8] = '_'
				if err := keys.Put(at, stored); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkOpen opens a database, and says how much memory the store has for each change. REVTAIL_CHANGES is the number of changes, and
// REVTAIL_FILE a file that is generated once; a million are 2 GiB.
func BenchmarkOpen(b *testing.B) {
	changes := 50_000
	if text := os.Getenv("REVTAIL_CHANGES"); text != "" {
		var err error
		if changes, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	file := os.Getenv("REVTAIL_FILE")
	if file == "" {
		file = filepath.Join(b.TempDir(), "db")
	}
	if _, err := os.Stat(file); err != nil {
		generate(b, file, changes)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var s *dbfile.Store
	for b.Loop() {
		if s != nil {
			_ = s.Close()
		}
		var err error
		if s, err = dbfile.Open(b.Context(), file, dbfile.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	info := s.Info()
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(info.Changes), "B/change")
	b.ReportMetric(float64(info.Size>>20), "MiB")
	page, err := s.List(b.Context(), "/registry/pods/namespace-1/", etcdstore.ListOptions{Limit: 10})
	if err != nil || len(page.KVs) != 10 || bytes.Equal(page.KVs[0].Value, page.KVs[1].Value) {
		b.Fatalf("%d keys (%v)", len(page.KVs), err)
	}
	_ = s.Close()
}
