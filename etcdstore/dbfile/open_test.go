//go:build !noembedded

package dbfile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"revtail/etcdstore"
	"revtail/etcdstore/dbfile"
	"revtail/etcdstore/embedded"
)

// fill makes a history with updates, deletions, a value of many pages, and a lease.
func fill(t *testing.T, etcd *etcdstore.Etcd) {
	t.Helper()
	lease, _, err := etcd.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ops := []etcdstore.Op{
		{Verb: etcdstore.Put, Key: "/a/leased", Value: []byte("x"), Lease: lease},
		{Verb: etcdstore.Put, Key: "/a/large", Value: bytes.Repeat([]byte("large"), 20_000)},
	}
	for i := range 100 {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Put, Key: fmt.Sprintf("/b/%03d", i), Value: bytes.Repeat([]byte{'a' + byte(i%26)}, 100+i)})
	}
	for i := 0; i < 100; i += 7 {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Delete, Key: fmt.Sprintf("/b/%03d", i)})
	}
	for i := range 100 {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Put, Key: fmt.Sprintf("/b/%03d", i/2), Value: fmt.Append(nil, "again ", i)})
	}
	for _, op := range ops {
		if _, err := etcd.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{op}}); err != nil {
			t.Fatal(err)
		}
	}
}

// content returns everything that a store knows: the state at each revision, and all events.
func content(t *testing.T, s etcdstore.Store, from etcdstore.Revision) (pages []etcdstore.Page, events []etcdstore.Event) {
	t.Helper()
	newest, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for at := from; at <= newest; at += 13 {
		page, err := s.List(t.Context(), "/", etcdstore.ListOptions{At: at})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	w := s.Watch(t.Context(), "/", etcdstore.WatchOptions{After: from, Previous: true})
	defer w.Close()
	for through := from; through < newest; {
		batch, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		events, through = append(events, batch.Events...), batch.Through
	}
	return pages, events
}

// TestSameAsEtcd compares a snapshot and the directory of the stopped member with the etcd, before and after a compaction, and the bytes of
// the files before and after they are read.
func TestSameAsEtcd(t *testing.T) {
	dir := t.TempDir()
	etcd, server := startEtcd(t, dir)
	fill(t, etcd)
	for _, compact := range []int64{0, 110} {
		if compact > 0 {
			kv, _ := server.Local()
			if _, err := kv.Compact(t.Context(), &pb.CompactionRequest{Revision: compact, Physical: true}); err != nil {
				t.Fatal(err)
			}
		}
		from := etcdstore.Revision(max(compact, 1))
		wantPages, wantEvents := content(t, etcd, from)
		file := filepath.Join(t.TempDir(), "snapshot.db")
		save(t, etcd, file)
		compare := func(path string) {
			before := files(t, filepath.Dir(path))
			s := openFile(t, path)
			pages, events := content(t, s, from)
			// cmp takes seconds for pages that are equal.
			if !reflect.DeepEqual(wantPages, pages) {
				t.Errorf("%s: lists (-etcd +file):\n%s", path, cmp.Diff(wantPages, pages))
			}
			if !reflect.DeepEqual(wantEvents, events) {
				t.Errorf("%s: events (-etcd +file):\n%s", path, cmp.Diff(wantEvents, events))
			}
			kv, _, err := s.Get(t.Context(), "/a/leased")
			if err != nil || kv.Lease == 0 {
				t.Errorf("%s: %+v (%v), want a lease", path, kv, err)
			}
			if compact > 0 {
				_, err := s.List(t.Context(), "/", etcdstore.ListOptions{At: from - 1})
				compacted := (*etcdstore.CompactedError)(nil)
				if !errors.As(err, &compacted) || compacted.Compacted != from {
					t.Errorf("%s: list before the compaction: %v", path, err)
				}
			}
			if _, err := s.Create(t.Context(), "/new", nil); !errors.Is(err, dbfile.ErrReadOnly) {
				t.Errorf("%s: create: %v", path, err)
			}
			if diff := cmp.Diff(before, files(t, filepath.Dir(path))); diff != "" {
				t.Errorf("%s: files have changed:\n%s", path, diff)
			}
		}
		compare(file)
		if compact == 0 {
			continue
		}
		if _, err := dbfile.Open(t.Context(), dir, dbfile.Options{}); !errors.Is(err, dbfile.ErrInUse) {
			t.Errorf("the database of an etcd that runs: %v, want ErrInUse", err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		compare(dir)
		compare(filepath.Join(dir, "member"))
		compare(filepath.Join(dir, "member", "snap", "db"))
	}
}

// files returns the SHA-256 of all files below a folder.
func files(t *testing.T, folder string) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		sums[name] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestSmallestFile opens the database of an etcd without a key, and with one, which bbolt keeps in a bucket without pages.
func TestSmallestFile(t *testing.T) {
	etcd, _ := startEtcd(t, t.TempDir())
	for _, key := range []string{"", "/only"} {
		if key != "" {
			if _, err := etcd.Create(t.Context(), key, []byte("value")); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(t.TempDir(), "small.db")
		save(t, etcd, file)
		s := openFile(t, file)
		want, err := etcd.List(t.Context(), "/", etcdstore.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.List(t.Context(), "/", etcdstore.ListOptions{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-etcd +file):\n%s", err, diff)
		}
		if info := s.Info(); !info.Checksum || info.Keys != len(want.KVs) || info.Oldest != 1 || info.Newest != want.Revision {
			t.Errorf("%+v", info)
		}
	}
}

// snapshotOf returns a snapshot with some history.
func snapshotOf(tb testing.TB) []byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{DataDir: tb.TempDir(), ClientURL: "http://127.0.0.1:0", Disposable: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer server.Close()
	etcd, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
	if err != nil {
		tb.Fatal(err)
	}
	defer etcd.Close()
	for i := range 300 {
		put := etcdstore.Op{Verb: etcdstore.Put, Key: fmt.Sprintf("/b/%03d", i%40), Value: bytes.Repeat([]byte("v"), 200+i%7*300)}
		if _, err := etcd.Transact(ctx, etcdstore.Txn{Then: []etcdstore.Op{put}}); err != nil {
			tb.Fatal(err)
		}
	}
	file := filepath.Join(tb.TempDir(), "snapshot.db")
	save(tb, etcd, file)
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

// TestDamagedFiles opens files that are cut off, changed, or something else.
func TestDamagedFiles(t *testing.T) {
	whole := snapshotOf(t)
	half := len(whole) / 2
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-40]++
	noMeta := bytes.Clone(whole)
	copy(noMeta[4096:], make([]byte, 4096))
	copy(noMeta, make([]byte, 4096))
	firstMeta := bytes.Clone(whole[:len(whole)-sha256.Size])
	copy(firstMeta, make([]byte, 4096))
	zeroed := bytes.Clone(whole[:len(whole)-sha256.Size])
	copy(zeroed[half:], make([]byte, len(zeroed)-half))
	for name, test := range map[string]struct {
		content []byte
		want    string // in the error; empty: it can be opened
		partial bool   // it can be opened in part
	}{
		"empty":                         {nil, "no database of etcd", false},
		"a text":                        {[]byte(strings.Repeat("no database ", 10_000)), "no database of etcd", false},
		"a few bytes":                   {whole[:100], "damaged", false},
		"the first pages":               {whole[:8192], "cut off after 2 of its", false},
		"half":                          {whole[:half], "cut off after", false}, // the root of the keys is at the end
		"half, in the middle of a page": {whole[:half+100], "cut off after", false},
		"without the checksum":          {whole[:len(whole)-sha256.Size], "", false},
		"a part of the checksum":        {whole[:len(whole)-10], "", false},
		"a changed byte":                {flipped, "checksum is wrong", true},
		"no description":                {noMeta, "no database of etcd", false},
		"the second description alone":  {firstMeta, "", false},
		"the second half is zero":       {zeroed, "damaged", false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, test.content, 0o400); err != nil {
				t.Fatal(err)
			}
			s, err := dbfile.Open(t.Context(), file, dbfile.Options{})
			switch {
			case err == nil && test.want == "":
				_ = s.Close()
			case err == nil:
				t.Fatalf("it was opened: %+v", s.Info())
			case test.want == "" || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			s, err = dbfile.Open(t.Context(), file, dbfile.Options{Partial: true})
			if err == nil {
				defer s.Close()
				checkPart(t, whole, s)
			}
			if opened := err == nil; opened != (test.partial || test.want == "") {
				t.Errorf("in part: %v", err)
			} else if opened && test.partial && s.Info().Damage == nil {
				t.Error("in part: no damage is reported")
			}
		})
	}
}

// TestDamagedPages damages one page after the other. The file is then whole, because the page is not in use, or refused, or opened up to a
// revision whose state is right.
func TestDamagedPages(t *testing.T) {
	whole := snapshotOf(t)
	parts := 0
	for page := 2; page < len(whole)/4096; page++ {
		content := bytes.Clone(whole[:len(whole)-sha256.Size])
		copy(content[page*4096:], make([]byte, 4096))
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, content, 0o400); err != nil {
			t.Fatal(err)
		}
		s, err := dbfile.Open(t.Context(), file, dbfile.Options{Partial: true})
		if damaged := (*dbfile.DamagedError)(nil); err != nil && !errors.As(err, &damaged) {
			t.Errorf("page %d: %v", page, err)
		}
		if err != nil {
			continue
		}
		if checkPart(t, whole, s); s.Info().Damage != nil {
			parts++
		}
		_ = s.Close()
	}
	if parts == 0 {
		t.Error("no file was opened in part")
	}
}

// checkPart compares which keys there are at the newest revision of a part with the whole file. Nothing in a database says whether the bytes
// of a value are right.
func checkPart(t *testing.T, whole []byte, part *dbfile.Store) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(file, whole, 0o400); err != nil {
		t.Fatal(err)
	}
	at := part.Info().Newest
	want := keysAt(t, openFile(t, file), at)
	if diff := cmp.Diff(want, keysAt(t, part, at)); diff != "" {
		t.Errorf("at revision %d (-whole +part):\n%s", at, diff)
	}
}

// keysAt returns the keys at a revision, with the revisions of their last changes.
func keysAt(t *testing.T, s etcdstore.Store, at etcdstore.Revision) map[string]etcdstore.Revision {
	t.Helper()
	page, err := s.List(t.Context(), "/", etcdstore.ListOptions{At: at, KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]etcdstore.Revision{}
	for _, kv := range page.KVs {
		keys[kv.Key] = kv.Modified
	}
	return keys
}

// TestOpenRefuses names paths that are no database.
func TestOpenRefuses(t *testing.T) {
	for path, want := range map[string]string{
		t.TempDir():                           "directory without member/snap/db",
		filepath.Join(t.TempDir(), "nothing"): "no such file",
		os.DevNull:                            "neither a file nor a directory",
	} {
		if _, err := dbfile.Open(t.Context(), path, dbfile.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// FuzzOpen changes bytes of a snapshot, and cuts it off. Whatever the file has, it is opened or refused, and every value that it says it
// has is read or refused.
func FuzzOpen(f *testing.F) {
	whole := snapshotOf(f)
	whole = whole[:len(whole)-sha256.Size]
	for at := range 24 {
		f.Add(uint32(at*len(whole)/24), []byte{0xff, 0, 0xff}, uint32(len(whole)))                   //nolint:gosec // small
		f.Add(uint32(at*4096), []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xff, 0xff}, uint32(len(whole))) //nolint:gosec // small
		f.Add(uint32(at*4096+8), []byte{2, 0}, uint32(at*len(whole)/24))                             //nolint:gosec // small
		f.Add(uint32(at*4096+16), []byte{0xff, 0xff, 0xff, 0xff}, uint32(len(whole)))                //nolint:gosec // small
	}
	f.Fuzz(func(t *testing.T, at uint32, change []byte, size uint32) {
		content := bytes.Clone(whole)
		copy(content[int(at)%len(content):], change)
		content = content[:min(int(size), len(content))]
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := dbfile.Open(t.Context(), file, dbfile.Options{Partial: true})
		if err != nil {
			return
		}
		defer s.Close()
		for _, o := range []etcdstore.ListOptions{{}, {Limit: 3}, {Limit: 1, At: s.Info().Oldest}} {
			if _, err := s.List(t.Context(), "/", o); err != nil && !errors.Is(err, etcdstore.ErrUnavailable) {
				t.Errorf("list: %v", err)
			}
		}
	})
}
