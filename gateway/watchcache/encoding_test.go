package watchcache

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// shout is an Encoding that counts its calls. It refuses objects with the value "bad".
type shout struct {
	calls  *atomic.Int32
	common bool
}

var errBad = errors.New("bad")

func (s shout) Encode(o *Object) ([]byte, error) {
	s.calls.Add(1)
	if strings.Contains(string(o.JSON), "bad") {
		return nil, errBad
	}
	return []byte("<" + o.Name() + ">"), nil
}

func (s shout) EncodeStored(o *Object) ([]byte, error) { return s.Encode(o) }

func (shout) Passes() int    { return 1 }
func (s shout) Common() bool { return s.common }

// TestEventsAreEncodedOnce checks that the object of an event is encoded for the first watcher only, whatever else watchers select, and
// that other watchers cost nothing.
func TestEventsAreEncodedOnce(t *testing.T) {
	bubble(t, nil, func(w *world) {
		calls, others := new(atomic.Int32), new(atomic.Int32)
		var watchers []*Watcher
		for range 10 {
			watchers = append(watchers, w.watch(WatchQuery{Encoding: shout{calls: calls, common: true}}), w.watch(WatchQuery{Namespace: "a", Encoding: shout{calls: calls, common: true}}), w.watch(WatchQuery{}))
		}
		other := w.watch(WatchQuery{Encoding: shout{calls: others, common: true}})
		w.put("a/one", "l", "1")
		w.put("a/one", "l", "2")
		w.remove("a/one")
		synctest.Wait()
		var running sync.WaitGroup
		for i, watcher := range append(watchers, other) {
			running.Go(func() {
				for seen := 0; seen < 3; {
					batch, err := watcher.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					for _, change := range batch.Changes {
						seen++
						if want := map[bool]string{true: "", false: "<one>"}[i%3 == 2]; string(change.Encoded) != want {
							t.Errorf("watcher %d: %q, want %q", i, change.Encoded, want)
						}
					}
				}
			})
		}
		running.Wait()
		if calls.Load() != 3 || others.Load() != 3 {
			t.Errorf("%d and %d calls for 3 events", calls.Load(), others.Load())
		}
	})
}

// TestEncodingErrorEndsTheWatch checks that a watch ends with an error at an object that cannot be encoded, after it has delivered the events
// before that object. The object is one of the initial events, or a change. Other watches continue.
func TestEncodingErrorEndsTheWatch(t *testing.T) {
	bubble(t, nil, func(w *world) {
		calls := new(atomic.Int32)
		watcher, plain := w.watch(WatchQuery{Encoding: shout{calls: calls}}), w.watch(WatchQuery{})
		w.put("a/one", "l", "1")
		w.put("a/two", "l", "bad")
		w.put("a/zoo", "l", "3")
		if changes, _, err := w.drain(plain); err != nil || len(changes) != 3 {
			t.Errorf("without an encoding: %v, %v", changes, err)
		}
		for name, watcher := range map[string]*Watcher{"changes": watcher, "initial events": w.watch(WatchQuery{Encoding: shout{calls: calls}, State: true})} {
			var got []string
			var err error
			for err == nil {
				var batch Batch
				batch, err = watcher.Next(t.Context())
				for _, change := range batch.Changes {
					got = append(got, string(change.Encoded))
				}
			}
			if !errors.Is(err, errBad) || strings.Join(got, "") != "<one>" {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	})
}

// panics is an Encoding that panics.
type panics struct{}

func (panics) Encode(*Object) ([]byte, error)       { panic("broken") }
func (panics) EncodeStored(*Object) ([]byte, error) { panic("broken") }
func (panics) Passes() int                          { return 1 }
func (panics) Common() bool                         { return true }

// TestPanicOfAnEncoding checks that watchers of an event whose encoding has panicked get an error and not an empty object.
func TestPanicOfAnEncoding(t *testing.T) {
	var e encodings
	o := newObject("a", 1)
	func() {
		defer func() { _ = recover() }()
		_, _ = e.of(panics{}, o)
	}()
	if form, err := e.of(panics{}, o); err == nil {
		t.Errorf("%q", form)
	}
}

// TestOtherEncodingsAreNotKept checks that an event keeps no forms but the common ones, because clients choose how many others there are.
func TestOtherEncodingsAreNotKept(t *testing.T) {
	e, o := &event{}, newObject("a/one", 1)
	e.current = o
	for _, common := range []bool{false, true} {
		for range 2 {
			if form, err := e.encode(shout{calls: new(atomic.Int32), common: common}, o); err != nil || string(form) != "<one>" {
				t.Errorf("%q, %v", form, err)
			}
		}
		if kept := e.encodings.newest.Load() != nil; kept != common {
			t.Errorf("common %t, kept %t", common, kept)
		}
	}
}

// TestCommonEncodings checks that events are encoded before anybody reads them as long as a watcher gets all of them in a common Encoding,
// and otherwise not.
func TestCommonEncodings(t *testing.T) {
	bubble(t, nil, func(w *world) {
		calls := new(atomic.Int32)
		common := shout{calls: calls, common: true}
		some := []*Watcher{
			w.watch(WatchQuery{Encoding: shout{calls: calls}}), w.watch(WatchQuery{Encoding: common, Namespace: "b"}), w.watch(WatchQuery{Encoding: common, Namespace: "a", Name: "one"}),
			w.watch(WatchQuery{Encoding: common, Selector: parse(t, "l=1", "")}),
		}
		write := func(want int32) {
			t.Helper()
			w.put("a/one", "l", "1")
			w.remove("a/one")
			synctest.Wait()
			if calls.Load() != want {
				t.Errorf("%d calls, want %d", calls.Load(), want)
			}
		}
		write(0)
		for i, namespace := range []string{"", "a"} {
			all, err := w.cache.Watch(WatchQuery{Encoding: common, Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			write(int32(2 + 2*i))
			all.Close()
			write(int32(2 + 2*i))
		}
		if _, _, err := w.drain(some[2]); err != nil || calls.Load() != 10 || len(w.cache.encodings) != 1 {
			t.Errorf("%d calls after a watcher has read all events, %v", calls.Load(), err)
		}
	})
}
