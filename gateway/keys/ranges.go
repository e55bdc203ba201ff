package keys

import (
	"context"

	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
)

// rangeStore is a store that holds the keys of one range only. A watch cache of it has whole keys for paths.
type rangeStore struct {
	etcdstore.Store
	keys keyrange.Range
}

// newRangesStore returns a store that holds the keys of some ranges only.
func newRangesStore(store etcdstore.Store, keys keyrange.Ranges) etcdstore.Store {
	if len(keys) == 1 {
		return rangeStore{store, keys[0]}
	}
	several := rangesStore{Store: store}
	for _, r := range keys {
		several.ranges = append(several.ranges, rangeStore{store, r})
	}
	return several
}

// List implements etcdstore.Store.
func (s rangeStore) List(ctx context.Context, _ string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	o.Exact = !s.keys.IsPrefix()
	return s.Store.List(ctx, s.keys.String(), o)
}

// Watch implements etcdstore.Store.
func (s rangeStore) Watch(ctx context.Context, _ string, o etcdstore.WatchOptions) etcdstore.Watcher {
	o.Exact = !s.keys.IsPrefix()
	return s.Store.Watch(ctx, s.keys.String(), o)
}

// rangesStore is a store that holds the keys of several ranges only.
type rangesStore struct {
	etcdstore.Store
	ranges []rangeStore // in the order of their keys
}

// List implements etcdstore.Store. It reads one range after the other, all as of one revision.
func (s rangesStore) List(ctx context.Context, _ string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	var all etcdstore.Page
	limit := o.Limit
	for _, r := range s.ranges {
		full := limit > 0 && len(all.KVs) == limit
		switch {
		case full:
			o.Limit = 1 // for the number of keys
		case limit > 0:
			o.Limit = limit - len(all.KVs)
		}
		page, err := r.List(ctx, "", o)
		if err != nil {
			return etcdstore.Page{}, err
		}
		all.Revision, o.At = page.Revision, page.Revision
		if full {
			all.Remaining += int64(len(page.KVs))
		} else {
			all.KVs = append(all.KVs, page.KVs...)
		}
		all.Remaining += page.Remaining
	}
	return all, nil
}

// Watch implements etcdstore.Store.
func (s rangesStore) Watch(ctx context.Context, _ string, o etcdstore.WatchOptions) etcdstore.Watcher {
	watchers := make([]etcdstore.Watcher, len(s.ranges))
	for i, r := range s.ranges {
		watchers[i] = r.Watch(ctx, "", o)
	}
	return newMergedWatcher(ctx, watchers, o.After)
}
