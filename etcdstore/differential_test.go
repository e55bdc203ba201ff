package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/etcdstore/storetest"
)

// TestDifferential checks that etcd and the model give the same answers to the same operations.
func TestDifferential(t *testing.T) {
	t.Parallel()
	etcd := newBackend(t, startEtcd(t))
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		p := newPair(t, etcd, fmt.Sprintf("/differential/%d/", run))
		defer p.close()
		rt.Repeat(map[string]func(*rapid.T){
			"create":  p.create,
			"update":  p.update,
			"delete":  p.delete,
			"txn":     p.txn,
			"get":     p.get,
			"list":    p.list,
			"compact": p.compact,
			"watch":   p.watch,
			"follow":  p.follow,
		})
		p.follow(rt)
	})
}

// pair is an etcd and a model that get the same operations. The model begins at revision 1 and etcd at the last revision of the previous
// pair, so that each revision of etcd is greater by base.
type pair struct {
	t       *testing.T
	etcd    storetest.Backend
	model   *memory.Store
	prefix  string
	base    etcdstore.Revision
	watches []*watchPair
}

// watchPair is a watch of both.
type watchPair struct {
	etcd, model etcdstore.Watcher
	after       etcdstore.Revision // of the model
	through     etcdstore.Revision // of the model; of the last event or progress
}

func newPair(t *testing.T, etcd storetest.Backend, prefix string) *pair {
	t.Helper()
	// A write makes a new revision, because the previous pair may have compacted up to the one before it.
	rev := etcd.Txn(map[string][]byte{"/differential/pair": nil}, nil)
	return &pair{t: t, etcd: etcd, model: memory.New(), prefix: prefix, base: rev - 1}
}

func (p *pair) close() {
	for _, w := range p.watches {
		for _, w := range []etcdstore.Watcher{w.etcd, w.model} {
			if err := w.Close(); err != nil {
				p.t.Errorf("Close: %v", err)
			}
		}
	}
}

// names are few, so that writes meet each other, and they are around the prefixes that are listed and watched.
var (
	names    = []string{"a", "a/1", "a/2", "a/2/x", "ab", "b", "b/1", "\xff"}
	prefixes = []string{"", "a", "a/", "a/2", "b/", "\xff", "none"}
)

func (p *pair) key(rt *rapid.T) string { return p.prefix + rapid.SampledFrom(names).Draw(rt, "name") }

func (p *pair) current() etcdstore.Revision {
	rev, err := p.model.Revision(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return rev
}

// revision returns a revision of the model's history, or a slightly later one.
func (p *pair) revision(rt *rapid.T) etcdstore.Revision {
	return etcdstore.Revision(rapid.IntRange(1, int(p.current())+2).Draw(rt, "revision"))
}

// want returns the revision that a writer expects of a key: mostly the right one.
func (p *pair) want(rt *rapid.T, key string) etcdstore.Revision {
	kv, _, err := p.model.Get(p.t.Context(), key)
	if err != nil || rapid.IntRange(0, 3).Draw(rt, "wrong") == 0 {
		return p.revision(rt)
	}
	return kv.Modified
}

func (p *pair) create(rt *rapid.T) {
	key, value := p.key(rt), rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "value")
	p.both(rt, func(s etcdstore.Store, _ etcdstore.Revision) (etcdstore.Revision, error) {
		return s.Create(p.t.Context(), key, value)
	})
}

func (p *pair) update(rt *rapid.T) {
	key, value := p.key(rt), rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "value")
	want := p.want(rt, key)
	p.both(rt, func(s etcdstore.Store, base etcdstore.Revision) (etcdstore.Revision, error) {
		return s.Update(p.t.Context(), key, value, want+base)
	})
}

func (p *pair) delete(rt *rapid.T) {
	key, want := p.key(rt), etcdstore.Revision(0)
	if rapid.Bool().Draw(rt, "compare") {
		want = p.want(rt, key)
	}
	p.both(rt, func(s etcdstore.Store, base etcdstore.Revision) (etcdstore.Revision, error) {
		if want == 0 {
			base = 0
		}
		return s.Delete(p.t.Context(), key, want+base)
	})
}

func (p *pair) txn(rt *rapid.T) {
	puts, deletes := map[string][]byte{}, []string(nil)
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(rt, "names") {
		if rapid.Bool().Draw(rt, "put") {
			puts[p.prefix+name] = []byte(name)
		} else {
			deletes = append(deletes, p.prefix+name)
		}
	}
	p.same(rt, "Txn", p.model.Txn(puts, deletes)+p.base, p.etcd.Txn(puts, deletes))
}

func (p *pair) get(rt *rapid.T) {
	key := p.key(rt)
	want, wantRev, wantErr := p.model.Get(p.t.Context(), key)
	got, gotRev, gotErr := p.etcd.Get(p.t.Context(), key)
	p.same(rt, "value", p.shift(&want), &got)
	p.same(rt, "revision", wantRev+p.base, gotRev)
	p.sameError(rt, wantErr, gotErr)
}

func (p *pair) list(rt *rapid.T) {
	prefix := p.prefix + rapid.SampledFrom(prefixes).Draw(rt, "prefix")
	o := etcdstore.ListOptions{Limit: rapid.IntRange(0, 4).Draw(rt, "limit")}
	if rapid.Bool().Draw(rt, "at") {
		o.At = p.revision(rt)
	}
	if rapid.Bool().Draw(rt, "continue") {
		o.After = p.key(rt)
	}
	want, wantErr := p.model.List(p.t.Context(), prefix, o)
	if o.At != 0 {
		o.At += p.base
	}
	got, gotErr := p.etcd.List(p.t.Context(), prefix, o)
	p.sameError(rt, wantErr, gotErr)
	if wantErr != nil {
		return
	}
	want.Revision += p.base
	for i := range want.KVs {
		want.KVs[i] = *p.shift(&want.KVs[i])
	}
	p.same(rt, "page", want, got)
}

// compact reads the watches first, because what a late watch gets depends on the store.
func (p *pair) compact(rt *rapid.T) {
	p.follow(rt)
	rev := p.revision(rt)
	want, got := p.model.Compact(rev), p.etcd.Compact(rev+p.base)
	if (want == nil) != (got == nil) {
		rt.Fatalf("compact %d: model %v, etcd %v", rev, want, got)
	}
}

func (p *pair) watch(rt *rapid.T) {
	if len(p.watches) == 3 {
		return // enough
	}
	prefix, after := p.prefix+rapid.SampledFrom(prefixes).Draw(rt, "prefix"), p.revision(rt)
	previous := rapid.Bool().Draw(rt, "previous")
	p.watches = append(p.watches, &watchPair{
		etcd:    p.etcd.Watch(p.t.Context(), prefix, etcdstore.WatchOptions{After: after + p.base, Previous: previous}),
		model:   p.model.Watch(p.t.Context(), prefix, etcdstore.WatchOptions{After: after, Previous: previous}),
		after:   after,
		through: after,
	})
}

// follow reads all watches up to the newest revision, and forgets those that have ended.
func (p *pair) follow(rt *rapid.T) {
	p.watches = slices.DeleteFunc(p.watches, func(w *watchPair) bool {
		want, wantErr := w.readModel(rt)
		for i, ev := range want {
			want[i].Revision += p.base
			want[i].KV, want[i].Prev = p.shift(ev.KV), p.shift(ev.Prev)
		}
		got, gotErr := w.readEtcd(rt, p.base, p.current())
		p.sameError(rt, wantErr, gotErr)
		p.same(rt, "events", want, got)
		if wantErr == nil {
			w.through = max(w.after, p.current())
			return false
		}
		_ = w.etcd.Close()
		_ = w.model.Close()
		return true
	})
}

// readModel reads the available events.
func (w *watchPair) readModel(rt *rapid.T) ([]etcdstore.Event, error) {
	var events []etcdstore.Event
	for {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // the model first returns the available events
		batch, err := w.model.Next(ctx)
		switch {
		case errors.Is(err, context.Canceled):
			return events, nil
		case err != nil:
			return events, err
		case len(batch.Events) == 0:
			rt.Fatalf("progress without a request")
		}
		events = append(events, batch.Events...)
	}
}

// readEtcd reads until etcd reports that the watch has delivered everything up to current.
func (w *watchPair) readEtcd(rt *rapid.T, base, current etcdstore.Revision) ([]etcdstore.Event, error) {
	var events []etcdstore.Event
	through := w.through + base
	for deadline := time.Now().Add(patience); through < current+base; {
		if time.Now().After(deadline) {
			rt.Fatalf("the watch after %d reached %d, want %d", w.after+base, through, current+base)
		}
		if err := w.etcd.RequestProgress(rt.Context()); err != nil {
			rt.Logf("RequestProgress: %v", err) // Next returns the reason
		}
		ctx, cancel := context.WithTimeout(rt.Context(), 50*time.Millisecond)
		batch, err := w.etcd.Next(ctx)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case err != nil:
			return events, err
		}
		events, through = append(events, batch.Events...), batch.Through
	}
	return events, nil
}

// both writes to both and compares the outcome.
func (p *pair) both(rt *rapid.T, write func(etcdstore.Store, etcdstore.Revision) (etcdstore.Revision, error)) {
	want, wantErr := write(p.model, 0)
	got, gotErr := write(p.etcd, p.base)
	p.sameError(rt, wantErr, gotErr)
	if wantErr == nil {
		p.same(rt, "revision", want+p.base, got)
	}
}

// shift converts a KV of the model to one of etcd.
func (p *pair) shift(kv *etcdstore.KV) *etcdstore.KV {
	if kv == nil || kv.Modified == 0 {
		return kv
	}
	shifted := *kv
	shifted.Created += p.base
	shifted.Modified += p.base
	return &shifted
}

func (p *pair) same(rt *rapid.T, what string, model, etcd any) {
	rt.Helper()
	if diff := cmp.Diff(model, etcd, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("%s (-model +etcd):\n%s", what, diff)
	}
}

// sameError compares the kinds of errors, and the revisions in them.
func (p *pair) sameError(rt *rapid.T, model, etcd error) {
	rt.Helper()
	if (model == nil) != (etcd == nil) {
		rt.Fatalf("model: %v; etcd: %v", model, etcd)
	}
	for _, kind := range []error{etcdstore.ErrNotFound, etcdstore.ErrExists, etcdstore.ErrConflict, etcdstore.ErrInvalid} {
		if errors.Is(model, kind) != errors.Is(etcd, kind) {
			rt.Fatalf("model: %v; etcd: %v", model, etcd)
		}
	}
	var mc, ec *etcdstore.CompactedError
	if errors.As(model, &mc) != errors.As(etcd, &ec) || mc != nil && mc.Requested+p.base != ec.Requested {
		rt.Fatalf("model: %v; etcd: %v", model, etcd)
	}
	var mf, ef *etcdstore.FutureError
	if errors.As(model, &mf) != errors.As(etcd, &ef) || mf != nil && mf.Requested+p.base != ef.Requested {
		rt.Fatalf("model: %v; etcd: %v", model, etcd)
	}
}
