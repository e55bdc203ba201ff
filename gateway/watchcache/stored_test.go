package watchcache

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
)

// pages reads all pages of a query from the store, or from the cache.
func (w *world) pages(q ListQuery, stored bool) (out [][]string, remaining []int64) {
	w.t.Helper()
	read := w.cache.List
	if stored {
		read = w.cache.ListStored
	}
	for {
		list, err := read(w.t.Context(), q)
		if err != nil {
			w.t.Fatalf("list %+v: %v", q, err)
		}
		page := []string{fmt.Sprint(list.Revision)}
		out = append(out, append(page, labelled(list)...))
		if list.Remaining != nil {
			remaining = append(remaining, *list.Remaining)
		}
		if list.Continue == "" {
			return out, remaining
		}
		q.At, q.After = list.Revision, list.Continue
	}
}

// TestStoredPagesEqualCachedOnes compares pages that are read from the store with those of the cache.
func TestStoredPagesEqualCachedOnes(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for i := range 40 {
			w.put(fmt.Sprintf("%c/%d", 'a'+i%3, i), fmt.Sprint(i%4), "")
		}
		past := w.put("b/more", "1", "")
		w.remove("a/0", "b/1", "c/38")
		w.put("ab/x", "2", "")
		for name, q := range map[string]ListQuery{
			"all": {}, "a namespace": {Namespace: "a"}, "a name": {Name: "x"}, "a name of a namespace": {Namespace: "ab", Name: "x"},
			"a past revision": {At: past}, "of a namespace": {At: past, Namespace: "b"}, "a selector": {Selector: parse(w.t, "l=1", "")},
			"a selector of the past": {At: past, Namespace: "a", Selector: parse(w.t, "l in (1,3)", "")},
			"nothing":                {Namespace: "none"}, "not older": {AtLeast: past}, "after a path": {After: "b/"},
		} {
			for _, q.Limit = range []int{1, 3, 13, 14, 100} {
				want, wantRemaining := w.pages(q, false)
				got, remaining := w.pages(q, true)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, limit %d (-cache +store):\n%s", name, q.Limit, diff)
				}
				if diff := cmp.Diff(wantRemaining, remaining); diff != "" {
					t.Errorf("%s, limit %d: remaining (-cache +store):\n%s", name, q.Limit, diff)
				}
			}
		}
	})
}

// TestStoredPagesOfWrongValues checks pages with values that cannot be decoded, and revisions that the store does not have.
func TestStoredPagesOfWrongValues(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/0", "1", "")
		w.write("a/1", []byte("no object"))
		newest := w.put("a/2", "1", "")
		want, got := w.list(ListQuery{Limit: 2}), w.stored(ListQuery{Limit: 2})
		if diff := cmp.Diff(labelled(want), labelled(got)); diff != "" || got.InvalidCount != 1 || got.Invalid[0].Path() != "a/1" {
			t.Errorf("%d invalid (-cache +store):\n%s", got.InvalidCount, diff)
		}
		w.compact(newest)
		var compacted *etcdstore.CompactedError
		if _, err := w.cache.ListStored(t.Context(), ListQuery{At: newest - 1, Limit: 1}); !errors.As(err, &compacted) {
			t.Errorf("a compacted revision: %v", err)
		}
		var late *TooLargeError
		if _, err := w.cache.ListStored(t.Context(), ListQuery{AtLeast: newest + 1, Limit: 1}); !errors.As(err, &late) || late.Current != newest {
			t.Errorf("a future revision: %v", err)
		}
	})
}

func (w *world) stored(q ListQuery) *List {
	w.t.Helper()
	list, err := w.cache.ListStored(w.t.Context(), q)
	if err != nil {
		w.t.Fatalf("list %+v: %v", q, err)
	}
	return list
}
