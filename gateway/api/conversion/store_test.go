package conversion_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/etcdstore/storetest"
	"revtail/gateway/api/conversion"
	"revtail/gateway/resource"
)

// fakeConversion converts by a function.
type fakeConversion struct {
	calls   atomic.Int32
	convert func(value []byte) ([]byte, error)
}

func (f *fakeConversion) FromStored(values [][]byte) ([][]byte, []error) {
	f.calls.Add(1)
	out, errs := make([][]byte, len(values)), make([]error, len(values))
	for i, value := range values {
		out[i], errs[i] = f.convert(value)
	}
	return out, errs
}

func (*fakeConversion) ToStored(object map[string]any) (map[string]any, error) { return object, nil }

// besideStore is the store of another version, with the compactions of the one below.
type besideStore struct {
	*conversion.Store
	below *memory.Store
}

func (s besideStore) Compact(rev etcdstore.Revision) error { return s.below.Compact(rev) }

func (s besideStore) Txn(puts map[string][]byte, deletes []string) etcdstore.Revision {
	return s.below.Txn(puts, deletes)
}

// TestContract checks that a store that converts nothing keeps the contract of a store.
func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Backend {
		below := memory.New()
		same := &fakeConversion{convert: func(value []byte) ([]byte, error) { return value, nil }}
		return besideStore{conversion.NewStore(below, same), below}
	})
}

var errBroken = &resource.ConversionError{Err: errors.New("broken")}

func upper(value []byte) ([]byte, error) {
	if string(value) == "bad" {
		return nil, errBroken
	}
	return bytes.ToUpper(value), nil
}

// TestConverts checks that each read converts, in one call, and that a value that cannot be converted hides no others.
func TestConverts(t *testing.T) {
	below, to := memory.New(), &fakeConversion{convert: upper}
	s := conversion.NewStore(below, to)
	s.SetPatience(0)
	values := map[string]string{"/a": "one", "/b": "bad", "/c": "three"}
	for key, value := range values {
		if _, err := s.Create(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(kv etcdstore.KV) {
		t.Helper()
		if broken := values[kv.Key] == "bad"; broken != (kv.Unreadable != nil) || broken && !errors.Is(kv.Unreadable, errBroken) {
			t.Errorf("%s: unreadable: %v", kv.Key, kv.Unreadable)
		} else if want, _ := upper([]byte(values[kv.Key])); !broken && !bytes.Equal(kv.Value, want) {
			t.Errorf("%s: %q, want %q", kv.Key, kv.Value, want)
		}
	}
	for key := range values {
		kv, _, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		check(kv)
	}
	before := to.calls.Load()
	page, err := s.List(t.Context(), "/", etcdstore.ListOptions{})
	if err != nil || len(page.KVs) != len(values) || to.calls.Load() != before+1 {
		t.Fatalf("%d values in %d calls: %v", len(page.KVs), to.calls.Load()-before, err)
	}
	for _, kv := range page.KVs {
		check(kv)
	}
	if _, err = s.List(t.Context(), "/", etcdstore.ListOptions{KeysOnly: true}); err != nil || to.calls.Load() != before+1 {
		t.Errorf("a list of keys converts: %v", err)
	}
	w := s.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1, Previous: true})
	defer func() { _ = w.Close() }()
	for seen := 0; seen < len(values); {
		batch, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			check(*e.KV)
			seen++
		}
	}
	if kv, _, err := below.Get(t.Context(), "/a"); err != nil || string(kv.Value) != "one" {
		t.Errorf("the value below is %q (%v): it is shared, and must not change", kv.Value, err)
	}
}

// TestHangingWebhook checks that lists and watches do not wait again for a webhook that hangs, and that requests find out when it does not.
func TestHangingWebhook(t *testing.T) {
	hangs := true
	to := &fakeConversion{}
	to.convert = func(value []byte) ([]byte, error) {
		if hangs {
			<-time.After(2500 * time.Millisecond) // longer than the time after which it counts as hanging
			return nil, errBroken
		}
		return value, nil
	}
	s := conversion.NewStore(memory.New(), to)
	if _, err := s.Create(t.Context(), "/a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	list := func() error {
		page, err := s.List(t.Context(), "/", etcdstore.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if page.KVs[0].Unreadable == nil {
			return nil
		}
		return page.KVs[0].Unreadable
	}
	for range 3 {
		if err := list(); !errors.Is(err, errBroken) {
			t.Errorf("list: %v, want the error of the webhook", err)
		}
	}
	if calls := to.calls.Load(); calls != 1 {
		t.Errorf("%d calls, want one", calls)
	}
	hangs = false
	if kv, _, err := s.Get(t.Context(), "/a"); err != nil || kv.Unreadable != nil {
		t.Errorf("get: %v, %v", kv.Unreadable, err)
	}
	if err := list(); err != nil {
		t.Errorf("list: %v, although the webhook works again", err)
	}
}

// TestWatchWaitsForWebhook checks that an event is delivered, once, when a webhook that failed works again.
func TestWatchWaitsForWebhook(t *testing.T) {
	var works atomic.Bool
	s := conversion.NewStore(memory.New(), &fakeConversion{convert: func(value []byte) ([]byte, error) {
		if !works.Load() {
			return nil, errBroken
		}
		return bytes.ToUpper(value), nil
	}})
	w := s.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})
	defer func() { _ = w.Close() }()
	if _, err := s.Create(t.Context(), "/a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	for s.Waiting() == nil {
		<-time.After(time.Millisecond)
	}
	if !errors.Is(s.Waiting(), errBroken) {
		t.Errorf("waiting because of %v", s.Waiting())
	}
	works.Store(true)
	if _, _, err := s.Get(t.Context(), "/a"); err != nil { // by which the watch gets to know
		t.Fatal(err)
	}
	batch, err := w.Next(t.Context())
	if err != nil || len(batch.Events) != 1 || string(batch.Events[0].KV.Value) != "ONE" || batch.Events[0].KV.Unreadable != nil {
		t.Errorf("%v, %v", batch, err)
	}
}

// TestSlowWatch checks that a watch is not silent while an event is converted, loses nothing when a reader does not wait, and ends at once.
func TestSlowWatch(t *testing.T) {
	proceed := make(chan struct{})
	s := conversion.NewStore(memory.New(), &fakeConversion{convert: func(value []byte) ([]byte, error) { <-proceed; return value, nil }})
	w := s.Watch(t.Context(), "/", etcdstore.WatchOptions{After: 1})
	if _, err := s.Create(t.Context(), "/a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := w.Next(bounded); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an impatient reader: %v", err)
	}
	batch, err := w.Next(t.Context())
	if err != nil || len(batch.Events) > 0 || batch.Through != 1 {
		t.Errorf("while it converts: %v, %v, want an empty batch through 1", batch, err)
	}
	close(proceed)
	for err == nil && len(batch.Events) == 0 {
		batch, err = w.Next(t.Context())
	}
	if err != nil || string(batch.Events[0].KV.Value) != "one" {
		t.Errorf("%v, %v", batch, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Next(t.Context()); !errors.Is(err, etcdstore.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
