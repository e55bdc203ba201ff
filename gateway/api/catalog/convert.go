package catalog

import (
	"cmp"
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

const (
	// reconvertTimeout bounds the time for which a request waits for a cache that a webhook fills again, and reconvertPause is the time between two looks.
	reconvertTimeout = 10 * time.Second
	reconvertPause   = 20 * time.Millisecond
)

// List lists objects. If a webhook failed to convert one of them, it tries again: the error is that of now, not of then.
func (c *Cache) List(ctx context.Context, q watchcache.ListQuery) (list *watchcache.List, err error) {
	if c.isPaged() && 0 < q.Limit && q.Limit <= watchcache.MaxStored {
		return c.ListStored(ctx, q)
	}
	if err := c.demandOfFile(ctx); err != nil {
		return nil, err
	}
	err = c.converted(ctx, func() (err error) {
		list, err = c.Cache.List(ctx, q)
		return err
	})
	return list, err
}

// Get is watchcache.Cache.Get. An object that a webhook failed to convert is read from etcd, and converted anew.
func (c *Cache) Get(ctx context.Context, path string, atLeast etcdstore.Revision) (*watchcache.Object, error) {
	if err := c.demandOfFile(ctx); err != nil {
		return nil, err
	}
	o, err := c.Cache.Get(ctx, path, atLeast)
	if err != nil || o == nil || conversionOf(o.Invalid) == nil {
		return o, err
	}
	kv, _, err := c.store.Get(ctx, conversionOf(o.Invalid).Key)
	switch {
	case errors.Is(err, etcdstore.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return c.Decode(kv), nil
}

// AwaitConverted returns nil when the state that a watch begins with is converted, or why it cannot be.
func (c *Cache) AwaitConverted(ctx context.Context, q watchcache.WatchQuery) error {
	if c == nil || c.converts == nil || !q.State {
		return nil
	}
	return c.converted(ctx, func() error {
		_, err := c.Cache.List(ctx, watchcache.ListQuery{Namespace: q.Namespace, Name: q.Name, AtLeast: q.AtLeast, Limit: 1, Own: true})
		return err
	})
}

// converted calls read, and calls it again while the cache is filled again because an object that could not be converted now can be.
func (c *Cache) converted(ctx context.Context, read func() error) error {
	err := read()
	if c.converts == nil {
		return err
	}
	if _, late := errors.AsType[*watchcache.TooLargeError](err); late {
		return cmp.Or(c.converts.Waiting(), err) // the cache is behind because of the webhook
	}
	ctx, cancel := context.WithTimeout(ctx, reconvertTimeout)
	defer cancel()
	known := ""
	for {
		failed := conversionOf(err)
		if failed == nil {
			return err
		}
		if failed.Key != known {
			if now := c.convertAgain(ctx, failed.Key); now != nil {
				return now
			}
			known = failed.Key
			select {
			case c.readable <- struct{}{}:
			default: // it knows
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(reconvertPause):
		}
		err = read()
	}
}

// convertAgain reads a key and converts its value; the error says why that fails. It is no error if the key is gone.
func (c *Cache) convertAgain(ctx context.Context, key string) error {
	kv, _, err := c.store.Get(ctx, key)
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil
	}
	if err == nil {
		if failed := conversionOf(c.Decode(kv).Invalid); failed != nil {
			return failed
		}
	}
	return err
}

// conversionOf returns the error of a value that cannot be converted; nil: it is another error.
func conversionOf(err error) *etcdstore.UnreadableError {
	unreadable, ok := errors.AsType[*etcdstore.UnreadableError](err)
	if _, conversion := errors.AsType[*resource.ConversionError](err); !ok || !conversion {
		return nil
	}
	return unreadable
}
