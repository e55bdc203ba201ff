package recorder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/memory"
)

// TestExcept checks a restart without the Events of a wider prefix, and one with them: they are not known meanwhile, nor is a list that would have them, and
// what is recorded all the time has no gap.
func TestExcept(t *testing.T) {
	r := &recording{Store: memory.New(), t: t, dir: t.TempDir()}
	first := put(t, r.Store, root+"configmaps/default/0", "x")
	r.all = append(r.all, etcdstore.Event{Revision: first, Key: root + "configmaps/default/0", KV: &etcdstore.KV{Value: []byte("x")}})
	r.start(root)
	r.await(root, first)
	one := r.write()
	r.except = []string{eventKeys}
	r.start(root)
	two := r.write()
	if r.recorder.Records(eventKeys) || r.recorder.Records(root) || !r.recorder.Records(configMaps) {
		t.Error("the Events are recorded, or the ConfigMaps are not")
	}
	r.start(root) // goes on with the same range
	two = max(two, r.write())
	r.except = nil
	r.start(root)
	three := r.write()
	if err := r.Compact(three); err != nil {
		t.Fatal(err)
	}
	ended, begun := r.recorder.journal.Ranges()[0], r.recorder.journal.Ranges()[2]
	if ended.Through < one || len(r.recorder.journal.Ranges()) != 3 {
		t.Fatalf("ranges: %+v", r.recorder.journal.Ranges())
	}
	for at := first; at < three; at++ {
		if !r.knows(configMaps, at) {
			t.Errorf("the ConfigMaps are not known at %d", at)
		}
		for _, prefix := range []string{eventKeys, root} {
			if got, want := r.knows(prefix, at), at <= ended.Through || at >= begun.Oldest; got != want {
				t.Errorf("%s is known at %d: %t, want %t", prefix, at, got, want)
			}
		}
	}
	if got, whole := r.watched(configMaps, first, three); !whole || len(got) != 40 {
		t.Errorf("the watch of ConfigMaps: %v (%t), want 40 events", got, whole)
	}
	for prefix, events := range map[string]int{eventKeys: 10, root: 20} {
		if got, whole := r.watched(prefix, first, three); whole || len(got) != events {
			t.Errorf("the watch of %s: %v (%t), want %d, and a gap", prefix, got, whole, events)
		}
	}
	r.checkExport()
	r.checkRecorded(two)
}

// checkRecorded checks that the range without Events has none at a revision.
func (r *recording) checkRecorded(at etcdstore.Revision) {
	r.t.Helper()
	j := r.recorder.journal
	page, err := j.ListRecorded(r.t.Context(), r.History(), root, etcdstore.ListOptions{At: at - 1})
	if err != nil || len(page.KVs) == 0 {
		r.t.Fatalf("%d keys are recorded: %v", len(page.KVs), err)
	}
	for _, kv := range page.KVs {
		if strings.HasPrefix(kv.Key, eventKeys) {
			r.t.Errorf("%s is recorded", kv.Key)
		}
	}
	if _, err := j.Verify(r.t.Context(), func(err error) { r.t.Error(err) }, nil); err != nil {
		r.t.Error(err)
	}
}

// TestExceptAfterCompaction checks that a range without Events goes on after a compaction of events that it lacks, with a gap.
func TestExceptAfterCompaction(t *testing.T) {
	r := &recording{Store: memory.New(), t: t, dir: t.TempDir(), except: []string{eventKeys}}
	r.start(root)
	r.await(configMaps, put(t, r.Store, root+"secrets/one", "before the range has events"))
	r.write()
	r.stop()
	missed := put(t, r.Store, configMaps+"default/0", "missed")
	missed = max(missed, put(t, r.Store, eventKeys+"default/0", "missed"))
	if err := r.Compact(missed); err != nil {
		t.Fatal(err)
	}
	r.start(root)
	r.await(configMaps, missed) // the range has begun anew
	last := put(t, r.Store, configMaps+"default/0", "last")
	r.await(configMaps, last)
	if known, ok := r.recorder.RangeOf(configMaps); !ok || len(known.Gaps) != 1 || known.Gaps[0].Until != missed {
		t.Errorf("%+v, want one gap until %d", known, missed)
	}
	r.checkRecorded(last)
}

// TestWithout compares lists without some prefixes in pages with the whole list.
func TestWithout(t *testing.T) {
	s := memory.New()
	for i := range 40 {
		put(t, s, fmt.Sprintf("%s%c/%d", root, 'a'+i%4, i), "x")
	}
	except := []string{root + "b/", root + "d/"}
	all, err := s.List(t.Context(), root, etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, kv := range all.KVs {
		if (journal.Range{Prefix: root, Except: except}).Records(kv.Key) {
			want = append(want, kv.Key)
		}
	}
	for limit := range 50 {
		var got []string
		for o := (etcdstore.ListOptions{Limit: limit}); ; {
			page, err := without(s, except).List(t.Context(), root, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, kv := range page.KVs {
				got = append(got, kv.Key)
			}
			if page.Remaining == 0 || len(page.KVs) == 0 {
				break
			}
			o.After = page.KVs[len(page.KVs)-1].Key
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || len(want) != 20 {
			t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
}
