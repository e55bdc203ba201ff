package watchcache

import (
	"context"
	"slices"

	"revtail/etcdstore"
)

const (
	// MaxStored is the largest limit of a query that ListStored answers.
	MaxStored = 10_000
	// storedPage is how many keys a search reads from the store at once.
	storedPage = 500
)

// ListStored answers a query with a limit, of at most MaxStored, by reading the store, and keeps nothing of it: Run need not run. It is for a
// store that is read at little cost and does not change, as a file. Remaining counts the values that cannot be decoded too. Config.Path must be nil.
// The errors are those of List, except *NotReadyError.
func (c *Cache) ListStored(ctx context.Context, q ListQuery) (*List, error) {
	at, err := c.storedRevision(ctx, q)
	if err != nil {
		return nil, err
	}
	r := storedReader{cache: c, query: q, list: &List{Revision: at, Turn: q.Account.Turn()}}
	defer r.list.Turn.End()
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	r.list.Objects = slices.Values(r.found)
	return r.list, nil
}

// storedRevision returns the revision of the state that a query asks for.
func (c *Cache) storedRevision(ctx context.Context, q ListQuery) (etcdstore.Revision, error) {
	newest, err := c.config.Store.Revision(ctx)
	if err != nil {
		return 0, err
	}
	if wanted := max(q.At, q.AtLeast); wanted > newest {
		return 0, &TooLargeError{Requested: wanted, Current: newest}
	}
	if q.At > 0 {
		return q.At, nil
	}
	return newest, nil
}

// storedReader reads the objects of one list.
type storedReader struct {
	cache *Cache
	query ListQuery
	list  *List
	found []*Object
}

// read reads keys until there are enough objects. A search reads on until it finds one more, as that of the cache does.
func (r *storedReader) read(ctx context.Context) error {
	q := r.query
	search := q.Filter != nil || !q.Selector.Empty() || q.Name != ""
	for after := q.After; ; {
		o := etcdstore.ListOptions{At: r.list.Revision, Limit: q.Limit - len(r.found)}
		if search {
			o.Limit = storedPage
		}
		if after != "" {
			o.After = r.cache.config.Key(after)
		}
		r.list.Turn.End() // the store may be slow
		page, err := r.cache.config.Store.List(ctx, r.cache.config.Prefix+pathPrefix(q.Namespace), o)
		if err != nil {
			return err
		}
		for _, kv := range page.KVs {
			full, err := r.add(ctx, kv)
			if err != nil || full {
				return err
			}
			after = r.cache.path(kv.Key)
		}
		if page.Remaining == 0 {
			return nil
		}
		if !search && len(r.found) == q.Limit {
			r.list.Remaining, r.list.Continue = &page.Remaining, after
			return nil
		}
	}
}

// add adds the object of a key, if the query selects it. Full: it is one more than the limit, so the list ends before it.
func (r *storedReader) add(ctx context.Context, kv etcdstore.KV) (full bool, err error) {
	q := r.query
	if !q.scope().contains(newObject(r.cache.path(kv.Key), kv.Modified)) {
		return false, nil
	}
	o := r.cache.Decode(kv)
	if reason := o.Unreadable(); reason != nil {
		return false, reason
	}
	if !o.Shown() {
		if r.list.InvalidCount++; len(r.list.Invalid) < maxInvalid {
			r.list.Invalid = append(r.list.Invalid, o)
		}
		return false, nil
	}
	if ok, err := matches(ctx, &r.list.Turn, q.Selector, q.Filter, o, r.cache); !ok || err != nil {
		return false, err
	}
	if len(r.found) == q.Limit {
		r.list.Continue = r.found[len(r.found)-1].path
		return true, nil
	}
	r.found = append(r.found, o)
	return false, nil
}
