package storetest

import (
	"context"
	"time"

	"revtail/etcdstore"
)

var transactTests = map[string]func(*fixture){
	"one-revision": func(f *fixture) {
		gone := f.create("gone", "1")
		before := f.create("a", "1")
		got := f.transact(etcdstore.Txn{
			If: []etcdstore.Condition{{Key: f.key("a"), Of: etcdstore.OfModified, Number: int64(before)}},
			Then: []etcdstore.Op{
				{Verb: etcdstore.Put, Key: f.key("a"), Value: []byte("2")}, {Verb: etcdstore.Put, Key: f.key("b"), Value: []byte("3")},
				{Verb: etcdstore.Delete, Key: f.key("gone")}, {Verb: etcdstore.Get, Key: f.key("a")},
			},
		})
		f.equal("result", etcdstore.TxnResult{
			Succeeded: true, Revision: before + 1, Results: []etcdstore.OpResult{{}, {}, {Deleted: 1}, {KV: f.kv("a", "2", before, before+1)}},
		}, got)
		watcher := f.Watch(f.ctx(), f.prefix, etcdstore.WatchOptions{After: before, Previous: true})
		defer func() { _ = watcher.Close() }()
		batch := must(watcher.Next(f.ctx()))(f, "Next")
		f.equal("events", []etcdstore.Event{
			f.put(f.kv("a", "2", before, before+1), f.kv("a", "1", before, before)), f.put(f.kv("b", "3", before+1, before+1), nil),
			f.del(before+1, "gone", f.kv("gone", "1", gone, gone)),
		}, batch.Events)
	},
	"else": func(f *fixture) {
		rev := f.create("a", "1")
		got := f.transact(etcdstore.Txn{
			If:   []etcdstore.Condition{{Key: f.key("a"), Of: etcdstore.OfCreated, Is: etcdstore.Less, Number: int64(rev)}},
			Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: f.key("b")}},
			Else: []etcdstore.Op{{Verb: etcdstore.Get, Key: f.key("a")}, {Verb: etcdstore.Get, Key: f.key("none")}},
		})
		f.equal("result", etcdstore.TxnResult{Revision: rev, Results: []etcdstore.OpResult{{KV: f.kv("a", "1", rev, rev)}, {}}}, got)
	},
	"conditions": func(f *fixture) {
		rev := f.create("a", "m")
		f.update("a", "n", rev)
		for _, c := range []struct {
			etcdstore.Condition
			want bool
		}{
			{etcdstore.Condition{Key: f.key("a"), Of: etcdstore.OfVersion, Number: 2}, true},
			{etcdstore.Condition{Key: f.key("a"), Of: etcdstore.OfVersion, Is: etcdstore.NotEqual, Number: 2}, false},
			{etcdstore.Condition{Key: f.key("a"), Of: etcdstore.OfValue, Value: []byte("n")}, true},
			{etcdstore.Condition{Key: f.key("a"), Of: etcdstore.OfValue, Is: etcdstore.Greater, Value: []byte("n")}, false},
			{etcdstore.Condition{Key: f.key("a"), Of: etcdstore.OfValue, Is: etcdstore.Greater, Value: []byte("m")}, true},
			{etcdstore.Condition{Key: f.key("a"), Of: etcdstore.OfLease}, true},
			{etcdstore.Condition{Key: f.key("none"), Of: etcdstore.OfModified}, true},
			{etcdstore.Condition{Key: f.key("none"), Of: etcdstore.OfValue}, false},
		} {
			if got := f.transact(etcdstore.Txn{If: []etcdstore.Condition{c.Condition}}).Succeeded; got != c.want {
				f.Errorf("%+v: %v, want %v", c.Condition, got, c.want)
			}
		}
	},
	"delete-prefix": func(f *fixture) {
		f.create("p/a", "1")
		f.create("p/b", "1")
		left := f.create("p", "1")
		got := f.transact(etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Delete, Key: f.key("p/"), Prefix: true}}})
		f.equal("result", etcdstore.TxnResult{Succeeded: true, Revision: left + 1, Results: []etcdstore.OpResult{{Deleted: 2}}}, got)
		f.equal("unchanged", []etcdstore.KV{*f.kv("p", "1", left, left)}, f.all())
	},
	"lease": func(f *fixture) {
		lease, ttl, err := f.Grant(f.ctx(), 30*time.Second)
		if err != nil || ttl < 30*time.Second {
			f.Fatalf("Grant: %v, %v", ttl, err)
		}
		f.transact(etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: f.key("a"), Lease: lease}}})
		if kv, _, err := f.Get(f.ctx(), f.key("a")); err != nil || kv.Lease != lease || kv.Version != 1 {
			f.Errorf("the key has the lease %d and the version %d, want %d and 1 (%v)", kv.Lease, kv.Version, lease, err)
		}
		for range 2 {
			if err := f.Revoke(f.ctx(), lease); err != nil {
				f.Errorf("Revoke: %v", err)
			}
		}
		_, _, err = f.Get(f.ctx(), f.key("a"))
		f.wantError("a key of a lease that was revoked", err, etcdstore.ErrNotFound)
		_, _, err = f.Grant(f.ctx(), 0)
		f.wantError("no time", err, etcdstore.ErrInvalid)
	},
	"exact": func(f *fixture) {
		f.create("ab", "1")
		rev := f.create("a", "1")
		for after, want := range map[string][]etcdstore.KV{"": {*f.kv("a", "1", rev, rev)}, f.key("a"): nil} {
			page := f.listUnder("a", etcdstore.ListOptions{Exact: true, After: after})
			f.equal("page after "+after, etcdstore.Page{KVs: want, Revision: rev}, page)
		}
		watcher := f.Watch(f.ctx(), f.key("a"), etcdstore.WatchOptions{After: rev, Exact: true, Previous: true})
		defer func() { _ = watcher.Close() }()
		f.create("abc", "1")
		updated := f.update("a", "2", rev)
		batch := must(watcher.Next(f.ctx()))(f, "Next")
		f.equal("events", []etcdstore.Event{f.put(f.kv("a", "2", rev, updated), f.kv("a", "1", rev, rev))}, batch.Events)
	},
	"invalid": func(f *fixture) {
		for what, txn := range map[string]etcdstore.Txn{
			"no key":           {If: []etcdstore.Condition{{}}},
			"delete of all":    {Then: []etcdstore.Op{{Verb: etcdstore.Delete, Prefix: true}}},
			"put twice":        {Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: f.key("a")}, {Verb: etcdstore.Put, Key: f.key("a")}}},
			"put and deleted":  {Else: []etcdstore.Op{{Verb: etcdstore.Put, Key: f.key("a")}, {Verb: etcdstore.Delete, Key: f.prefix, Prefix: true}}},
			"empty key in put": {Else: []etcdstore.Op{{Verb: etcdstore.Put}}},
		} {
			_, err := f.Transact(f.ctx(), txn)
			f.wantError(what, err, etcdstore.ErrInvalid)
		}
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error {
			_, err := f.Transact(ctx, etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: f.key("a")}}})
			return err
		})
	},
}

func (f *fixture) transact(t etcdstore.Txn) etcdstore.TxnResult {
	f.Helper()
	got, err := f.Transact(f.ctx(), t)
	if err != nil {
		f.Fatalf("Transact: %v", err)
	}
	return got
}
