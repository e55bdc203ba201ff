package storetest

import (
	"context"
	"errors"
	"fmt"

	"revtail/etcdstore"
)

var listTests = map[string]func(*fixture){
	"empty": func(f *fixture) {
		f.equal("page", etcdstore.Page{Revision: f.revision()}, f.list(etcdstore.ListOptions{}))
	},
	"byte-order": func(f *fixture) {
		for _, name := range []string{"b", "a/b", "ü", "a", "B", "a-b"} {
			f.create(name, "")
		}
		f.equal("names", []string{"B", "a", "a-b", "a/b", "b", "ü"}, f.names(f.list(etcdstore.ListOptions{})))
	},
	"prefix": func(f *fixture) {
		f.create("x/1", "")
		f.create("x", "")
		f.create("xy", "")
		f.create("y/1", "")
		for prefix, want := range map[string][]string{
			"x/": {"x/1"}, "x": {"x", "x/1", "xy"}, "": {"x", "x/1", "xy", "y/1"}, "z": nil,
		} {
			page := f.listUnder(prefix, etcdstore.ListOptions{})
			f.equal("names under "+prefix, want, f.names(page))
		}
	},
	"prefix-of-0xff": func(f *fixture) {
		f.create("a\xff", "")
		f.create("a\xff\xff", "")
		f.create("b", "")
		page := f.listUnder("a\xff", etcdstore.ListOptions{})
		f.equal("names", []string{"a\xff", "a\xff\xff"}, f.names(page))
	},
	"at-revision": func(f *fixture) {
		created := f.create("a", "1")
		updated := f.update("a", "2", created)
		f.create("b", "1")
		f.delete("a")
		f.equal("first", etcdstore.Page{
			KVs: []etcdstore.KV{*f.kv("a", "1", created, created)}, Revision: created,
		}, f.list(etcdstore.ListOptions{At: created}))
		f.equal("second", etcdstore.Page{
			KVs: []etcdstore.KV{*f.kv("a", "2", created, updated)}, Revision: updated,
		}, f.list(etcdstore.ListOptions{At: updated}))
		f.equal("newest", []string{"b"}, f.names(f.list(etcdstore.ListOptions{})))
	},
	"pages": func(f *fixture) {
		want := f.fill(7)
		at := f.revision()
		var got []string
		o := etcdstore.ListOptions{Limit: 3, At: at}
		for {
			page := f.list(o)
			got = append(got, f.names(page)...)
			f.equal("remaining", int64(len(want)-len(got)), page.Remaining)
			f.equal("revision", at, page.Revision)
			if page.Remaining == 0 {
				break
			}
			f.create("n9-"+got[len(got)-1], "written between pages")
			o.After = page.KVs[len(page.KVs)-1].Key
		}
		f.equal("names", want, got)
	},
	"scan": func(f *fixture) {
		want := f.fill(7)
		f.update(want[0], "changed", f.revision()-6)
		list, seen := f.list(etcdstore.ListOptions{}), etcdstore.Page{Revision: f.revision()}
		for page, err := range etcdstore.Scan(f.ctx(), f.Backend, f.prefix, 0) {
			if err != nil {
				f.Fatal(err)
			}
			seen.KVs = append(seen.KVs, page.KVs...)
			f.equal("remaining", int64(len(want)-len(seen.KVs)), page.Remaining)
			f.equal("revision", seen.Revision, page.Revision)
		}
		f.equal("scan", list, seen)
	},
	"scan-past": func(f *fixture) {
		names := f.fill(7)
		at := f.revision()
		want := f.list(etcdstore.ListOptions{})
		f.update(names[0], "changed", at-6)
		f.create("z", "later")
		got := etcdstore.Page{Revision: at}
		for page, err := range etcdstore.Scan(f.ctx(), f.Backend, f.prefix, at) {
			if err != nil {
				f.Fatal(err)
			}
			got.KVs = append(got.KVs, page.KVs...)
			f.equal("revision", at, page.Revision)
		}
		f.equal("scan", want, got)
		f.compact(f.revision())
		for _, err := range etcdstore.Scan(f.ctx(), f.Backend, f.prefix, at) {
			f.wantCompacted("after a compaction", err, at, f.revision())
		}
	},
	"keys-only": func(f *fixture) {
		created := f.create("a", "1")
		want := f.kv("a", "", created, created)
		want.Value = nil
		f.equal("page", etcdstore.Page{KVs: []etcdstore.KV{*want}, Revision: created}, f.list(etcdstore.ListOptions{KeysOnly: true}))
	},
	"remaining": func(f *fixture) {
		f.fill(5)
		for limit, want := range map[int]int64{0: 0, 1: 4, 4: 1, 5: 0, 6: 0} {
			f.equal(fmt.Sprintf("limit %d", limit), want, f.list(etcdstore.ListOptions{Limit: limit}).Remaining)
		}
	},
	"after": func(f *fixture) {
		names := f.fill(3)
		for after, want := range map[string][]string{
			f.key(names[0]):       names[1:],
			f.key(names[0]) + "x": names[1:],
			f.key(names[2]):       nil,
			f.prefix:              names,
			"/":                   names, // before the prefix
			"~":                   nil,   // after it
		} {
			page := f.list(etcdstore.ListOptions{After: after})
			f.equal("names after "+after, want, f.names(page))
			f.equal("revision", f.revision(), page.Revision)
		}
	},
	"compacted": func(f *fixture) {
		first := f.create("a", "1")
		second := f.update("a", "2", first)
		f.create("b", "1")
		f.compact(second)
		_, err := f.List(f.ctx(), f.prefix, etcdstore.ListOptions{At: first})
		f.wantCompacted("before the compaction", err, first, second)
		f.equal("at the compaction", etcdstore.Page{
			KVs: []etcdstore.KV{*f.kv("a", "2", first, second)}, Revision: second,
		}, f.list(etcdstore.ListOptions{At: second}))
	},
	"future": func(f *fixture) {
		at := f.revision() + 1
		_, err := f.List(f.ctx(), f.prefix, etcdstore.ListOptions{At: at})
		var future *etcdstore.FutureError
		if !errors.As(err, &future) || future.Requested != at {
			f.Errorf("error %v, want a *FutureError of %d", err, at)
		}
	},
	"ctx": func(f *fixture) {
		f.endedCtx(func(ctx context.Context) error { _, err := f.List(ctx, f.prefix, etcdstore.ListOptions{}); return err })
		f.endedCtx(func(ctx context.Context) error { _, err := f.Revision(ctx); return err })
	},
	"invalid": func(f *fixture) {
		for what, call := range map[string]func() (etcdstore.Page, error){
			"empty prefix":      func() (etcdstore.Page, error) { return f.List(f.ctx(), "", etcdstore.ListOptions{}) },
			"negative limit":    func() (etcdstore.Page, error) { return f.List(f.ctx(), "a", etcdstore.ListOptions{Limit: -1}) },
			"negative revision": func() (etcdstore.Page, error) { return f.List(f.ctx(), "a", etcdstore.ListOptions{At: -1}) },
		} {
			_, err := call()
			f.wantError(what, err, etcdstore.ErrInvalid)
		}
	},
}

// fill creates n keys and returns their names.
func (f *fixture) fill(n int) []string {
	f.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
		f.create(names[i], "")
	}
	return names
}

// names are the keys of a page without the prefix of the fixture.
func (f *fixture) names(page etcdstore.Page) []string {
	var names []string
	for _, kv := range page.KVs {
		names = append(names, kv.Key[len(f.prefix):])
	}
	return names
}
