package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"revtail/etcdstore"
)

var watchTests = map[string]func(*fixture){
	"ordered": func(f *fixture) {
		after := f.revision()
		want := f.history(40)
		live := f.watch(f.prefix, after)
		want = append(want, f.history(40)...)
		f.equal("events of a watch that was open", want, live.events(len(want)))
		f.equal("events of a watch from history", want, f.watch(f.prefix, after).events(len(want)))
	},
	"unique": func(f *fixture) {
		after := f.revision()
		want := f.history(30)
		w := f.watch(f.prefix, after)
		w.events(len(want))
		sentinel := f.create("sentinel", "")
		f.equal("the next event", []etcdstore.Event{f.put(f.kv("sentinel", "", sentinel, sentinel), nil)}, w.events(1))
	},
	"atomic": func(f *fixture) {
		after := f.revision()
		live := f.watch(f.prefix, after)
		puts, names := map[string][]byte{}, []string(nil)
		for i := range 20 {
			names = append(names, fmt.Sprintf("n%02d", i))
			puts[f.key(names[i])] = []byte("1")
		}
		created := f.Txn(puts, nil)
		removed := f.Txn(map[string][]byte{f.key("other"): nil}, []string{f.key("n01"), f.key("n00")})
		var want []etcdstore.Event
		for _, name := range names {
			want = append(want, f.put(f.kv(name, "1", created, created), nil))
		}
		want = append(want, f.put(f.kv("other", "", removed, removed), nil),
			f.del(removed, "n00", f.kv("n00", "1", created, created)), f.del(removed, "n01", f.kv("n01", "1", created, created)))
		// events checks that no revision is split.
		f.equal("live", want, live.events(len(want)))
		f.equal("from history", want, f.watch(f.prefix, after).events(len(want)))
	},
	"atomic-when-large": func(f *fixture) {
		// Several times the size of a message of etcd, which sends fragments that end within a revision.
		after := f.revision()
		large := []byte(strings.Repeat("x", 300<<10))
		var want []etcdstore.Event
		for i := range 6 {
			puts := map[string][]byte{}
			for _, name := range []string{"a", "b", "c"} {
				puts[f.key(fmt.Sprintf("%s%d", name, i))] = large
			}
			rev := f.Txn(puts, nil)
			for _, key := range slices.Sorted(maps.Keys(puts)) {
				want = append(want, f.put(f.kv(key[len(f.prefix):], string(large), rev, rev), nil))
			}
		}
		got := f.watch(f.prefix, after).events(len(want))
		if len(got) != len(want) {
			f.Fatalf("%d events, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i].Key != want[i].Key || got[i].Revision != want[i].Revision || len(got[i].KV.Value) != len(large) {
				f.Errorf("event %d: %s at %d with %d bytes, want %s at %d", i, got[i].Key, got[i].Revision, len(got[i].KV.Value), want[i].Key, want[i].Revision)
			}
		}
	},
	"reliable": func(f *fixture) {
		// More revisions than etcd sends in one response.
		after := f.revision()
		want := f.history(1100)
		f.equal("events", want, f.watch(f.prefix, after).events(len(want)))
	},
	"reliable-when-late": func(f *fixture) {
		w := f.watch(f.prefix, f.revision())
		want := f.history(1100)
		f.equal("events", want, w.events(len(want)))
	},
	"resumable": func(f *fixture) {
		after := f.revision()
		want := f.history(60)
		var got []etcdstore.Event
		for len(got) < len(want) {
			w := f.watch(f.prefix, after)
			batch := w.next()
			f.checkBatch(batch, after)
			got, after = append(got, batch.Events...), batch.Through
			w.close()
		}
		f.equal("events of many watches, each after the last one's Through", want, got)
	},
	"progress": func(f *fixture) {
		after := f.revision()
		w := f.watch(f.key("quiet/"), after)
		f.create("quiet/a", "")
		w.events(1)
		rev := f.create("noise", "")
		through := w.progress(rev)
		f.equal("no progress beyond the store", true, through <= f.revision())
		next := f.create("quiet/b", "")
		f.equal("event after progress", next, w.events(1)[0].Revision)
	},
	"events-before-progress": func(f *fixture) {
		after := f.revision()
		want := f.history(50)
		w := f.watch(f.prefix, after)
		var got []etcdstore.Event
		for through := after; through < f.revision(); {
			w.requestProgress()
			batch, err := w.tryNext(100 * time.Millisecond)
			if errors.Is(err, context.DeadlineExceeded) {
				continue
			}
			if err != nil {
				f.Fatal(err)
			}
			f.checkBatch(batch, through)
			got, through = append(got, batch.Events...), batch.Through
		}
		f.equal("events before progress", want, got)
	},
	"compacted": func(f *fixture) {
		first := f.create("a", "1")
		second := f.update("a", "2", first)
		third := f.update("a", "3", second)
		last := f.update("a", "4", third)
		f.compact(third)
		_, err := f.watch(f.prefix, first).tryNext(timeout)
		f.wantCompacted("two before the compaction", err, first, third)
		f.equal("one before the compaction: all, but the state before it is lost", []etcdstore.Event{
			f.put(f.kv("a", "3", first, third), nil),
			f.put(f.kv("a", "4", first, last), f.kv("a", "3", first, third)),
		}, f.watch(f.prefix, second).events(2))
		f.equal("at the compaction", []etcdstore.Event{
			f.put(f.kv("a", "4", first, last), f.kv("a", "3", first, third)),
		}, f.watch(f.prefix, third).events(1))
	},
	"compacted-delete": func(f *fixture) {
		created := f.create("a", "1")
		deleted := f.delete("a")
		f.compact(deleted)
		got := f.watch(f.prefix, created).events(1)
		f.equal("the delete at the compaction", []etcdstore.Event{f.del(deleted, "a", nil)}, got)
		f.equal("PrevLost", true, got[0].PrevLost())
	},
	"compaction-keeps-current-watches": func(f *fixture) {
		w := f.watch(f.prefix, f.revision())
		first := f.create("a", "1")
		w.events(1)
		for range 3 {
			f.Txn(map[string][]byte{"/storetest-elsewhere": nil}, nil)
		}
		f.compact(f.revision())
		second := f.update("a", "2", first)
		f.equal("event", []etcdstore.Event{f.put(f.kv("a", "2", first, second), f.kv("a", "1", first, first))}, w.events(1))
	},
	"previous": func(f *fixture) {
		after := f.revision()
		w := f.watch(f.prefix, after)
		r1 := f.create("a", "1")
		r2 := f.update("a", "2", r1)
		r3 := f.delete("a")
		r4 := f.create("a", "3")
		want := []etcdstore.Event{
			f.put(f.kv("a", "1", r1, r1), nil),
			f.put(f.kv("a", "2", r1, r2), f.kv("a", "1", r1, r1)),
			f.del(r3, "a", f.kv("a", "2", r1, r2)),
			f.put(f.kv("a", "3", r4, r4), nil),
		}
		got := w.events(4)
		f.equal("live", want, got)
		f.equal("from history", want, f.watch(f.prefix, after).events(4))
		for i, create := range []bool{true, false, false, true} {
			f.equal(fmt.Sprintf("IsCreate of %d", i), create, got[i].IsCreate())
			f.equal(fmt.Sprintf("PrevLost of %d", i), false, got[i].PrevLost())
		}
		bare := &watch{Watcher: f.Watch(f.ctx(), f.prefix, etcdstore.WatchOptions{After: after}), f: f, through: after}
		f.Cleanup(bare.close)
		for i := range want {
			want[i].Prev = nil
		}
		f.equal("without Previous", want, bare.events(4))
	},
	"prefix": func(f *fixture) {
		w := f.watch(f.key("x/"), f.revision())
		f.create("x", "")
		f.create("xy", "")
		f.create("w/1", "")
		rev := f.create("x/1", "")
		f.Txn(map[string][]byte{f.key("x/2"): nil, f.key("y/2"): nil}, nil)
		f.equal("events", []etcdstore.Event{
			f.put(f.kv("x/1", "", rev, rev), nil),
			f.put(f.kv("x/2", "", rev+1, rev+1), nil),
		}, w.events(2))
	},
	"future": func(f *fixture) {
		now := f.revision()
		w := f.watch(f.prefix, now+2)
		f.create("a", "")
		f.create("b", "")
		rev := f.create("c", "")
		f.equal("only later events", []etcdstore.Event{f.put(f.kv("c", "", rev, rev), nil)}, w.events(1))
	},
	"independent": func(f *fixture) {
		// A watch without a reader does not delay another one.
		after := f.revision()
		f.watch(f.prefix, after)
		w := f.watch(f.prefix, after)
		want := f.history(1100)
		f.equal("events", want, w.events(len(want)))
	},
}
