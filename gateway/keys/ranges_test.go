package keys

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/etcdstore/storetest"
	"revtail/gateway/keys/keyrange"
)

// besideStore is a store whose watches are merged with a watch of keys that are never written.
type besideStore struct{ *memory.Store }

func (s besideStore) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	if prefix == "" || o.After <= 0 {
		return s.Store.Watch(ctx, prefix, o)
	}
	quiet := etcdstore.WatchOptions{After: o.After, Exact: true}
	return newMergedWatcher(ctx, []etcdstore.Watcher{s.Store.Watch(ctx, "quiet", quiet), s.Store.Watch(ctx, prefix, o)}, o.After)
}

// TestMergedWatcher runs the tests of every watch on a merged watch.
func TestMergedWatcher(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Backend { return besideStore{memory.New()} })
}

func ranges(t interface {
	Helper()
	Fatal(...any)
}, keys ...string) keyrange.Ranges {
	t.Helper()
	parsed, err := keyrange.Parse("", map[string][]string{"key": keys})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestRangesStore checks that pages and watches of several ranges have all keys of the ranges and no others, in the order of keys and of
// revisions, without splitting a revision.
func TestRangesStore(t *testing.T) {
	names := []string{"/a", "/a/", "/a/b", "/a/b/", "/ab", "/b", "a", "a/b"}
	rapid.Check(t, func(t *rapid.T) {
		asked := ranges(t, rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "ranges")...)
		store := memory.New()
		several := newRangesStore(store, asked)
		write := func() {
			puts := map[string][]byte{}
			for i, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "puts") {
				puts[name+rapid.SampledFrom([]string{"", "x"}).Draw(t, "rest")] = fmt.Append(nil, i)
			}
			store.Txn(puts, nil)
		}
		for range rapid.IntRange(0, 6).Draw(t, "before") {
			write()
		}
		within := func(key string) bool {
			for _, r := range asked {
				if r.Contains(key) {
					return true
				}
			}
			return false
		}
		var want []string
		for _, first := range []string{"/", "a"} {
			page, err := store.List(context.Background(), first, etcdstore.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, kv := range page.KVs {
				if within(kv.Key) {
					want = append(want, kv.Key)
				}
			}
		}
		if diff := cmp.Diff(want, allKeys(t, several, rapid.IntRange(0, 3).Draw(t, "limit"))); diff != "" {
			t.Fatalf("pages of %v: %s", asked, diff)
		}
		after, err := store.Revision(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		followTwice(t, store, several, within, after, write)
	})
}

func allKeys(t *rapid.T, store etcdstore.Store, limit int) (keys []string) {
	options := etcdstore.ListOptions{Limit: limit}
	for total := int64(-1); ; {
		page, err := store.List(context.Background(), "", options)
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range page.KVs {
			keys = append(keys, kv.Key)
		}
		if total < 0 {
			total = page.Remaining + int64(len(keys))
		}
		if total != page.Remaining+int64(len(keys)) {
			t.Fatalf("%d keys remain of %d after %v", page.Remaining, total, keys)
		}
		if page.Remaining == 0 {
			return keys
		}
		options.After, options.At = keys[len(keys)-1], page.Revision
	}
}

// followTwice compares a watch of several ranges with a watch of all keys.
func followTwice(t *rapid.T, store *memory.Store, several etcdstore.Store, within func(string) bool, after etcdstore.Revision, write func()) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	writes := rapid.IntRange(1, 6).Draw(t, "writes")
	for range writes {
		write()
	}
	var want []etcdstore.Event
	last := after + etcdstore.Revision(writes)
	for _, first := range []string{"/", "a"} {
		var events []etcdstore.Event
		read(t, store.Watch(ctx, first, etcdstore.WatchOptions{After: after, Previous: true}), last, &events)
		for _, e := range events {
			if within(e.Key) {
				want = append(want, e)
			}
		}
	}
	var got []etcdstore.Event
	read(t, several.Watch(ctx, "", etcdstore.WatchOptions{After: after, Previous: true}), last, &got)
	sameEvents(t, want, got)
}

// read reads a watch up to a revision. Batches have whole revisions, each once.
func read(t *rapid.T, w etcdstore.Watcher, last etcdstore.Revision, into *[]etcdstore.Event) {
	defer func() { _ = w.Close() }()
	var through etcdstore.Revision
	for through < last {
		if err := w.RequestProgress(context.Background()); err != nil {
			t.Fatal(err)
		}
		batch, err := w.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			if e.Revision <= through || e.Revision > batch.Through {
				t.Fatalf("an event of revision %d after %d, in a batch up to %d", e.Revision, through, batch.Through)
			}
			*into = append(*into, e)
		}
		through = batch.Through
	}
}

// sameEvents compares events in the order of revisions; within a revision the order may differ.
func sameEvents(t *rapid.T, want, got []etcdstore.Event) {
	for i := 1; i < len(got); i++ {
		if got[i].Revision < got[i-1].Revision {
			t.Fatalf("revision %d after %d", got[i].Revision, got[i-1].Revision)
		}
	}
	index := func(events []etcdstore.Event) map[string]etcdstore.Event {
		out := map[string]etcdstore.Event{}
		for _, e := range events {
			out[fmt.Sprint(e.Revision, " ", e.Key)] = e
		}
		return out
	}
	if diff := cmp.Diff(index(want), index(got)); diff != "" || len(want) != len(got) {
		t.Fatalf("%d events, want %d: %s", len(got), len(want), diff)
	}
}

// TestMergedWatcherRequestsLittleProgress checks that a merged watch does not request progress of a late range for each event of another
// one.
func TestMergedWatcherRequestsLittleProgress(t *testing.T) {
	const events = 500
	told := make(chan struct{})
	busy, quiet := &busyWatcher{most: events, told: told}, &lateWatcher{told: told, through: events}
	merged := newMergedWatcher(t.Context(), []etcdstore.Watcher{busy, quiet}, 1)
	defer func() { _ = merged.Close() }()
	batch, err := merged.Next(t.Context())
	if err != nil || len(batch.Events) != events-1 {
		t.Fatalf("%d events, %v", len(batch.Events), err)
	}
	if n := quiet.asked.Load(); n == 0 || n > events/2 {
		t.Errorf("asked %d times, for %d events", n, events)
	}
}

// busyWatcher has one event for each revision, and closes a channel after the last.
type busyWatcher struct {
	etcdstore.Watcher
	at, most etcdstore.Revision
	told     chan struct{}
}

func (w *busyWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if w.at = max(w.at, 1) + 1; w.at <= w.most {
		return etcdstore.Batch{Events: []etcdstore.Event{{Revision: w.at, Key: "/a"}}, Through: w.at}, nil
	}
	close(w.told)
	<-ctx.Done()
	return etcdstore.Batch{}, ctx.Err()
}

func (w *busyWatcher) RequestProgress(context.Context) error { return nil }

func (w *busyWatcher) Close() error { return nil }

// lateWatcher delivers nothing before the other watcher has delivered all events.
type lateWatcher struct {
	etcdstore.Watcher
	told    chan struct{}
	through etcdstore.Revision
	asked   atomic.Int64
}

func (w *lateWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	select {
	case <-w.told:
	case <-ctx.Done():
		return etcdstore.Batch{}, ctx.Err()
	}
	return etcdstore.Batch{Through: w.through}, nil
}

func (w *lateWatcher) RequestProgress(context.Context) error {
	w.asked.Add(1)
	return nil
}

func (w *lateWatcher) Close() error { return nil }
