package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// fork returns a store that has the history of a world up to now, if both have made the same writes, and goes on with another one.
func fork(t *testing.T, common int) *world {
	t.Helper()
	w := newWorld(t)
	w.write(common)
	w.random = rand.New(rand.NewPCG(5, 6)) //nolint:gosec // repeatable
	return w
}

// TestRejoin checks that a range whose newest revision etcd has compacted keeps only what is of the history of the etcd, whether that was restored
// meanwhile or not.
func TestRejoin(t *testing.T) {
	for _, restored := range []bool{false, true} {
		t.Run(fmt.Sprint("restored ", restored), func(t *testing.T) {
			w := newWorld(t)
			w.begin()
			w.write(60)
			var other *world
			if restored {
				other = fork(t, 60)
			}
			w.write(20)
			w.record()
			was := w.writer.Range()
			if restored {
				w.Store = other.Store
				w.random = other.random
				w.write(10)
			}
			w.write(25)
			w.random = rand.New(rand.NewPCG(7, 8)) //nolint:gosec // repeatable
			oldest, err := w.Revision(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.write(25)
			if err := w.writer.Rejoin(t.Context(), &compacted{Store: w.Store, oldest: oldest}); err != nil {
				t.Fatal(err)
			}
			now := w.writer.Range()
			if len(now.Gaps) != 1 || now.Gaps[0].Until != oldest || now.Gaps[0].After > was.Through || now.Gaps[0].After < was.Oldest || now.Oldest != was.Oldest {
				t.Fatalf("%+v, before %+v", now, was)
			}
			w.write(30)
			w.record()
			w.compareAround(now.Gaps[0])
			w.reopen()
			w.compareAround(now.Gaps[0])
		})
	}
}

// TestRejoinAnother checks that nothing is kept of which no revision is proven.
func TestRejoinAnother(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.write(60)
	w.record()
	other := fork(t, 0)
	other.write(100)
	if err := w.writer.Rejoin(t.Context(), other.Store); !errors.Is(err, ErrOtherHistory) {
		t.Errorf("%v, want ErrOtherHistory", err)
	}
}

// TestOtherHistoryOfOneKey checks that histories that have written the same key at the same revisions are told apart.
func TestOtherHistoryOfOneKey(t *testing.T) {
	j, err := Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if closed := j.Close(); closed != nil {
			t.Error(closed)
		}
	}()
	store, restored := memory.New(), memory.New()
	var last etcdstore.Revision
	for i := range 5 {
		last = store.Txn(map[string][]byte{root + "lease": fmt.Append(nil, "renewed ", i)}, nil)
		restored.Txn(map[string][]byte{root + "lease": fmt.Append(nil, "renewed anew ", i)}, nil)
	}
	writer := j.Writer(root, WriterOptions{})
	if err = writer.Begin(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if writer.Range().Through != last {
		t.Fatalf("%+v, want it to begin at %d", writer.Range(), last)
	}
	if err = writer.Verify(t.Context(), store); err != nil {
		t.Errorf("the same history: %v", err)
	}
	if err = writer.Verify(t.Context(), restored); !errors.Is(err, ErrOtherHistory) {
		t.Errorf("another one: %v, want ErrOtherHistory", err)
	}
}
