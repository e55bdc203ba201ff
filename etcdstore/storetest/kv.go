package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"revtail/etcdstore"
)

var getTests = map[string]func(*fixture){
	"newest": func(f *fixture) {
		created := f.create("a", "1")
		updated := f.update("a", "2", created)
		later := f.create("b", "")
		got, rev, err := f.Get(f.ctx(), f.key("a"))
		if err != nil {
			f.Fatal(err)
		}
		f.equal("value", *f.kv("a", "2", created, updated), got)
		f.equal("revision of the read", later, rev)
	},
	"not-found": func(f *fixture) {
		want := f.create("a", "1")
		_, rev, err := f.Get(f.ctx(), f.key("b"))
		f.wantError("Get", err, etcdstore.ErrNotFound)
		f.equal("revision of the read", want, rev)
	},
	"created-anew": func(f *fixture) {
		f.create("a", "1")
		f.delete("a")
		again := f.create("a", "2")
		f.equal("value", *f.kv("a", "2", again, again), f.get("a"))
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error { _, _, err := f.Get(ctx, f.key("a")); return err })
	},
	"invalid": func(f *fixture) {
		_, _, err := f.Get(f.ctx(), "")
		f.wantError("empty key", err, etcdstore.ErrInvalid)
	},
}

var createTests = map[string]func(*fixture){
	"next-revision": func(f *fixture) {
		before := f.revision()
		f.equal("revision", before+1, f.create("a", "1"))
		f.equal("revision of the store", before+1, f.revision())
	},
	"exists": func(f *fixture) {
		rev := f.create("a", "1")
		_, err := f.Create(f.ctx(), f.key("a"), []byte("2"))
		f.wantError("Create", err, etcdstore.ErrExists)
		f.equal("unchanged", []etcdstore.KV{*f.kv("a", "1", rev, rev)}, f.all())
	},
	"any-bytes": func(f *fixture) {
		value := "\x00\xff{\"not\": json"
		rev := f.create("a\x01ü", value)
		f.equal("value", *f.kv("a\x01ü", value, rev, rev), f.get("a\x01ü"))
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error { _, err := f.Create(ctx, f.key("a"), nil); return err })
	},
	"invalid": func(f *fixture) {
		_, err := f.Create(f.ctx(), "", nil)
		f.wantError("empty key", err, etcdstore.ErrInvalid)
	},
}

var createGuardedTests = map[string]func(*fixture){
	"next-revision": func(f *fixture) {
		guard := f.create("g", "")
		made := must(f.createGuarded(guard))(f, "createGuarded")
		f.equal("revision", guard+1, made)
		f.equal("state", []etcdstore.KV{*f.kv("a", "1", made, made), *f.kv("g", "", guard, guard)}, f.all())
	},
	"guard-has-changed": func(f *fixture) {
		before := f.create("g", "1")
		after := f.update("g", "2", before)
		for _, guard := range []etcdstore.Revision{before, after + 1} {
			_, err := f.createGuarded(guard)
			f.wantError("CreateGuarded", err, etcdstore.ErrConflict)
		}
		f.equal("not created", []etcdstore.KV{*f.kv("g", "2", before, after)}, f.all())
	},
	"guard-is-gone": func(f *fixture) {
		guard := f.create("g", "1")
		f.delete("g")
		_, err := f.createGuarded(guard)
		f.wantError("CreateGuarded", err, etcdstore.ErrConflict)
		f.create("g", "2")
		_, err = f.createGuarded(guard)
		f.wantError("CreateGuarded after the guard was created again", err, etcdstore.ErrConflict)
	},
	"exists": func(f *fixture) {
		guard := f.create("g", "")
		f.create("a", "1")
		_, err := f.createGuarded(guard)
		f.wantError("CreateGuarded", err, etcdstore.ErrExists)
		_, err = f.createGuarded(guard + 7)
		f.wantError("CreateGuarded, and the guard has changed", err, etcdstore.ErrExists)
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error {
			_, err := f.CreateGuarded(ctx, f.key("a"), nil, etcdstore.Guard{Key: f.key("g"), Modified: 1})
			return err
		})
	},
	"invalid": func(f *fixture) {
		for what, guard := range map[string]etcdstore.Guard{"no guard": {}, "no revision": {Key: f.key("g")}, "no key of the guard": {Modified: 1}} {
			_, err := f.CreateGuarded(f.ctx(), f.key("a"), nil, guard)
			f.wantError(what, err, etcdstore.ErrInvalid)
		}
		_, err := f.CreateGuarded(f.ctx(), "", nil, etcdstore.Guard{Key: f.key("g"), Modified: 1})
		f.wantError("empty key", err, etcdstore.ErrInvalid)
	},
}

// createGuarded creates the key a with the value "1", if the key g is at a revision.
func (f *fixture) createGuarded(guard etcdstore.Revision) (etcdstore.Revision, error) {
	return f.CreateGuarded(f.ctx(), f.key("a"), []byte("1"), etcdstore.Guard{Key: f.key("g"), Modified: guard})
}

var updateTests = map[string]func(*fixture){
	"cas": func(f *fixture) {
		created := f.create("a", "1")
		updated := f.update("a", "2", created)
		f.equal("revision", created+1, updated)
		f.equal("state", []etcdstore.KV{*f.kv("a", "2", created, updated)}, f.all())
	},
	"conflict": func(f *fixture) {
		created := f.create("a", "1")
		updated := f.update("a", "2", created)
		for _, want := range []etcdstore.Revision{created, updated + 1} {
			_, err := f.Update(f.ctx(), f.key("a"), []byte("3"), want)
			f.wantError("Update", err, etcdstore.ErrConflict)
			f.wantConflict(err, *f.kv("a", "2", created, updated))
		}
		f.equal("unchanged", []etcdstore.KV{*f.kv("a", "2", created, updated)}, f.all())
	},
	"conflict-after-recreation": func(f *fixture) {
		first := f.create("a", "1")
		f.delete("a")
		f.create("a", "2")
		_, err := f.Update(f.ctx(), f.key("a"), []byte("3"), first)
		f.wantError("Update", err, etcdstore.ErrConflict)
	},
	"not-found": func(f *fixture) {
		rev := f.create("a", "1")
		f.delete("a")
		_, err := f.Update(f.ctx(), f.key("a"), []byte("2"), rev)
		f.wantError("Update", err, etcdstore.ErrNotFound)
	},
	"same-value-is-a-write": func(f *fixture) {
		rev := f.create("a", "1")
		f.equal("revision", rev+1, f.update("a", "1", rev))
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error { _, err := f.Update(ctx, f.key("a"), nil, 1); return err })
	},
	"invalid": func(f *fixture) {
		_, err := f.Update(f.ctx(), "", nil, 1)
		f.wantError("empty key", err, etcdstore.ErrInvalid)
		f.create("a", "1")
		_, err = f.Update(f.ctx(), f.key("a"), nil, 0)
		f.wantError("no want", err, etcdstore.ErrInvalid)
	},
}

var deleteTests = map[string]func(*fixture){
	"cas": func(f *fixture) {
		rev := f.create("a", "1")
		got := must(f.Delete(f.ctx(), f.key("a"), rev))(f, "Delete")
		f.equal("revision", rev+1, got)
		f.equal("state", []etcdstore.KV(nil), f.all())
	},
	"any-revision": func(f *fixture) {
		rev := f.create("a", "1")
		f.equal("revision", rev+1, f.delete("a"))
	},
	"conflict": func(f *fixture) {
		rev := f.create("a", "1")
		_, err := f.Delete(f.ctx(), f.key("a"), rev+1)
		f.wantError("Delete", err, etcdstore.ErrConflict)
		f.wantConflict(err, *f.kv("a", "1", rev, rev))
		f.equal("unchanged", []etcdstore.KV{*f.kv("a", "1", rev, rev)}, f.all())
	},
	"not-found": func(f *fixture) {
		before := f.revision()
		for _, want := range []etcdstore.Revision{0, before} {
			_, err := f.Delete(f.ctx(), f.key("a"), want)
			f.wantError("Delete", err, etcdstore.ErrNotFound)
		}
		f.equal("revision of the store", before, f.revision())
	},
	"only-this-key": func(f *fixture) {
		f.create("a", "1")
		rev := f.create("ab", "1")
		f.delete("a")
		f.equal("state", []etcdstore.KV{*f.kv("ab", "1", rev, rev)}, f.all())
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error { _, err := f.Delete(ctx, f.key("a"), 0); return err })
	},
	"invalid": func(f *fixture) {
		_, err := f.Delete(f.ctx(), "", 0)
		f.wantError("empty key", err, etcdstore.ErrInvalid)
		_, err = f.Delete(f.ctx(), f.key("a"), -1)
		f.wantError("negative want", err, etcdstore.ErrInvalid)
	},
}

var writeTests = map[string]func(*fixture){
	// One of several concurrent updates succeeds. Each update that is tried again after a conflict keeps the others.
	"concurrent-updates": func(f *fixture) {
		f.create("n", "")
		const writers, each = 4, 10
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					f.appendByte()
				}
			})
		}
		wg.Wait()
		got, _, err := f.Get(f.ctx(), f.key("n"))
		if err != nil {
			f.Fatal(err)
		}
		f.equal("bytes appended", writers*each, len(got.Value))
	},
	"concurrent-creates": func(f *fixture) {
		var made atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch _, err := f.Create(f.ctx(), f.key("a"), nil); {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, etcdstore.ErrExists):
					f.Errorf("Create: %v", err)
				}
			})
		}
		wg.Wait()
		f.equal("creates that succeeded", int32(1), made.Load())
	},
}

// appendByte appends a byte to "n" by compare and set. It tries until it succeeds.
func (f *fixture) appendByte() {
	for {
		kv, _, err := f.Get(f.ctx(), f.key("n"))
		if err != nil {
			f.Errorf("Get: %v", err)
			return
		}
		_, err = f.Update(f.ctx(), kv.Key, append(kv.Value[:len(kv.Value):len(kv.Value)], 'x'), kv.Modified)
		if err == nil {
			return
		}
		if !errors.Is(err, etcdstore.ErrConflict) {
			f.Errorf("Update: %v", err)
			return
		}
	}
}

// endedCtx wants the error of the context if it has ended before the call, and no ErrUnknownOutcome.
func (f *fixture) endedCtx(call func(context.Context) error) {
	f.Helper()
	before := f.revision()
	ctx, cancel := context.WithCancel(f.ctx())
	cancel()
	err := call(ctx)
	f.wantError("ended context", err, context.Canceled)
	if errors.Is(err, etcdstore.ErrUnknownOutcome) {
		f.Errorf("ended context: %v, but the request cannot have been sent", err)
	}
	f.equal("revision of the store", before, f.revision())
}
