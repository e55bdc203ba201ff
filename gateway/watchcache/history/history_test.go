package history

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

const prefix = "/things/"

var errStopped = errors.New("stopped")

// storeWith returns a store with one write for each key, from revision 2 on.
func storeWith(keys ...string) *memory.Store {
	s := memory.New()
	for _, key := range keys {
		s.Txn(map[string][]byte{prefix + key: []byte("value")}, nil)
	}
	return s
}

// startFanout runs a fan-out of revisions until the test ends.
func startFanout(t *testing.T, store etcdstore.Store) (f *Fanout[etcdstore.Revision], stop func()) {
	t.Helper()
	return startFanoutThat(t, store, func(context.Context) (etcdstore.Revision, bool) { return 0, false })
}

// startFanoutThat is startFanout with Config.Settle.
func startFanoutThat(t *testing.T, store etcdstore.Store, settle func(context.Context) (etcdstore.Revision, bool)) (f *Fanout[etcdstore.Revision], stop func()) {
	t.Helper()
	f = NewFanout(Config[etcdstore.Revision]{
		Store:   store,
		Prefix:  prefix,
		Decode:  func(e etcdstore.Event) (etcdstore.Revision, int, bool) { return e.Revision, 1, true },
		Verify:  func(context.Context) error { return nil },
		Settle:  settle,
		Stopped: errStopped,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return f, stop
}

// queryAfter reads the keys of a path after a revision.
func queryAfter(after etcdstore.Revision, path string) Query {
	return Query{
		Resume: after, After: after, Path: path,
		Contains: func(key string) bool { return strings.HasPrefix(key, prefix+path) },
		Check:    func() error { return nil },
	}
}

// readUntil returns the revisions that a reader gets until its Through has reached one.
func readUntil(t *testing.T, r *Reader[etcdstore.Revision], through etcdstore.Revision) (got []etcdstore.Revision) {
	t.Helper()
	for r.Through() < through {
		delivered := r.Through()
		events, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, revision := range events {
			if revision > delivered {
				got = append(got, revision)
			}
		}
	}
	return got
}

func TestReadersGetTheEventsOfTheirPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := startFanout(t, storeWith("a/x", "b/x", "a/y"))
		all, a := f.Read(queryAfter(1, "")), f.Read(queryAfter(2, ""))
		if got := readUntil(t, all, 4); !slices.Equal(got, []etcdstore.Revision{2, 3, 4}) {
			t.Errorf("a reader after revision 1 gets %v", got)
		}
		if got := readUntil(t, a, 4); !slices.Equal(got, []etcdstore.Revision{3, 4}) {
			t.Errorf("a reader after revision 2 gets %v", got)
		}
		all.Close()
		a.Close()
		if readers, buffered := f.Stats(); readers != 0 || buffered != 0 {
			t.Errorf("after Close %d readers hold %d bytes", readers, buffered)
		}
	})
}

// A reader that needs later events than the chunk for which a laggard has no room waits no longer than laggardTimeout for it.
func TestReaderAheadOfALaggard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storeWith("a/x")
		f, _ := startFanout(t, store)
		laggard := f.Read(queryAfter(1, ""))
		defer laggard.Close()
		synctest.Wait() // its inbox is full
		third := store.Txn(map[string][]byte{prefix + "a/x": []byte("third")}, nil)
		synctest.Wait() // this revision waits for room
		ahead := f.Read(queryAfter(third, ""))
		defer ahead.Close()
		synctest.Wait()
		fourth := store.Txn(map[string][]byte{prefix + "a/x": []byte("fourth")}, nil)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if events, err := ahead.Next(ctx); err != nil || !slices.Contains(events, fourth) {
			t.Errorf("after %v the reader has %v, %v", time.Since(began), events, err)
		}
		if took := time.Since(began); took > laggardTimeout {
			t.Errorf("the reader waited %v", took)
		}
		if got := readUntil(t, laggard, fourth); !slices.Equal(got, []etcdstore.Revision{2, third, fourth}) {
			t.Errorf("the laggard gets %v", got)
		}
	})
}

func TestReaderOfACompactedRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storeWith("a/x", "a/x", "a/x")
		if err := store.Compact(4); err != nil {
			t.Fatal(err)
		}
		f, _ := startFanout(t, store)
		r := f.Read(queryAfter(2, "a/"))
		defer r.Close()
		_, err := r.Next(t.Context())
		if compacted, ok := errors.AsType[*etcdstore.CompactedError](err); !ok || compacted.Requested != 2 || compacted.Compacted != 4 {
			t.Errorf("the reader gets %v", err)
		}
	})
}

func TestReaderEndsWithItsCheckAndWithTheFanout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, stop := startFanout(t, storeWith("a/x"))
		failed := errors.New("check failed")
		q := queryAfter(1, "")
		q.Check = func() error { return failed }
		checked, waiting := f.Read(q), f.Read(queryAfter(5, ""))
		if _, err := checked.Next(t.Context()); !errors.Is(err, failed) {
			t.Errorf("a reader whose check fails gets %v", err)
		}
		stop()
		if _, err := waiting.Next(t.Context()); !errors.Is(err, errStopped) {
			t.Errorf("after Run a reader gets %v", err)
		}
	})
}

// Readers that the log can serve when it has settled are returned to it; the others read the store.
func TestReadersReturnToTheLog(t *testing.T) {
	settled, first := make(chan struct{}), true
	f, _ := startFanoutThat(t, storeWith("a", "b", "c", "d"), func(context.Context) (etcdstore.Revision, bool) {
		waited := first
		<-settled
		first = false
		return 3, waited
	})
	inLog, older := f.Read(queryAfter(3, "")), f.Read(queryAfter(2, ""))
	defer inLog.Close()
	defer older.Close()
	close(settled)
	if _, err := inLog.Next(t.Context()); !errors.Is(err, ErrInLog) {
		t.Errorf("a reader of what the log has gets %v", err)
	}
	if got := readUntil(t, older, 5); !slices.Equal(got, []etcdstore.Revision{3, 4, 5}) {
		t.Errorf("a reader of older events gets %v", got)
	}
	if readers, _ := f.Stats(); readers != 1 {
		t.Errorf("%d readers are left", readers)
	}
}

func TestRevisionReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := NewRevisionReads(func(context.Context) (etcdstore.Revision, error) {
			reads++
			return etcdstore.Revision(reads), nil
		}, errStopped)
		results := make(chan etcdstore.Revision, 10)
		for range cap(results) {
			go func() {
				newest, err := s.Newest(t.Context())
				if err != nil {
					t.Error(err)
				}
				results <- newest
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go s.Run(ctx)
		for range cap(results) {
			if newest := <-results; newest != 1 {
				t.Errorf("a caller gets the result of read %d, want the first", newest)
			}
		}
		cancel()
		synctest.Wait()
		if _, err := s.Newest(t.Context()); !errors.Is(err, errStopped) {
			t.Errorf("after Run a caller gets %v", err)
		}
	})
}

func TestBackoff(t *testing.T) {
	var b Backoff
	for _, want := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000} {
		if got := b.Next(); got != want*time.Millisecond {
			t.Errorf("the pause is %v, want %v ms", got, want)
		}
	}
	if b.Reset(); b.Next() != MinPause {
		t.Error("Reset does not restart the pauses")
	}
}
