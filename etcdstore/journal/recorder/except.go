package recorder

import (
	"context"
	"slices"
	"strings"

	"revtail/etcdstore"
)

// partial is an etcd without the keys with some prefixes.
type partial struct {
	etcdstore.Store
	except []string
}

// without returns a store without the keys with some prefixes.
func without(s etcdstore.Store, except []string) etcdstore.Store {
	if len(except) == 0 {
		return s
	}
	return &partial{s, except}
}

// excluding returns the prefix that excludes a key; empty: it is not excluded.
func (s *partial) excluding(key string) string {
	i := slices.IndexFunc(s.except, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	if i < 0 {
		return ""
	}
	return s.except[i]
}

// beyond is greater than all keys with a prefix in which it follows the prefix, but for keys that are no text.
const beyond = "\xff\xff\xff\xff"

// List implements etcdstore.Store. A page may have fewer keys than its limit, but has some unless it is the last one. Remaining counts excluded keys, too.
func (s *partial) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	for {
		page, err := s.Store.List(ctx, prefix, o)
		if err != nil || len(page.KVs) == 0 {
			return page, err
		}
		last := page.KVs[len(page.KVs)-1].Key
		page.KVs = slices.DeleteFunc(page.KVs, func(kv etcdstore.KV) bool { return s.excluding(kv.Key) != "" })
		if len(page.KVs) > 0 || page.Remaining == 0 {
			return page, nil
		}
		o.At, o.After = page.Revision, s.excluding(last)+beyond
	}
}

// Watch implements etcdstore.Store.
func (s *partial) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &partialWatcher{s.Store.Watch(ctx, prefix, o), s}
}

type partialWatcher struct {
	etcdstore.Watcher
	store *partial
}

// Next implements etcdstore.Watcher.
func (w *partialWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	step, err := w.Watcher.Next(ctx)
	step.Events = slices.DeleteFunc(slices.Clone(step.Events), func(e etcdstore.Event) bool { return w.store.excluding(e.Key) != "" })
	return step, err
}
