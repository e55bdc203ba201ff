package watchcache

import (
	"context"
	"errors"
	"time"
)

const (
	retryUnreadable = 10 * time.Second // until values are read again: the configuration may have their key by now
	maxRetried      = 20               // values that are read each time
)

var errReadable = errors.New("a value can be decrypted that could not be before")

// unreadable returns an object if its value cannot be decrypted, else nil.
func unreadable(o *Object) *Object {
	if o == nil || o.Unreadable() == nil {
		return nil
	}
	return o
}

// checkReadable returns the *etcdstore.UnreadableError of the first object in a scope, after a path, whose value cannot be decrypted. A state
// without that object would be wrong: clients would take it for deleted.
func (s *snapshot) checkReadable(in scope, after string) (err error) {
	s.invalid.ascend(in, after, func(o *Object) (kept, more bool) {
		if reason := o.Unreadable(); reason != nil {
			err = reason
		}
		return false, err == nil
	})
	return err
}

// awaitReadable returns errReadable when a value of the cache can be decrypted that could not be before, or nil when ctx ends.
func (c *Cache) awaitReadable(ctx context.Context) error {
	after := ""
	for tick := time.Tick(retryUnreadable); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		case <-c.config.Readable:
		}
		s, ready := c.currentSnapshot()
		if !ready || s.invalid.count == 0 {
			continue
		}
		var objects []*Object
		objects, after = s.nextUnreadable(after)
		for _, o := range objects {
			kv, _, err := c.config.Store.Get(ctx, c.config.Key(o.path))
			if err == nil && kv.Modified == o.Revision && kv.Unreadable == nil {
				return errReadable
			}
		}
	}
}

// nextUnreadable returns some objects after a path whose values cannot be decrypted, and where the next ones begin.
func (s *snapshot) nextUnreadable(after string) (objects []*Object, next string) {
	s.invalid.ascend(scope{}, after, func(o *Object) (kept, more bool) {
		if kept = o.Unreadable() != nil; kept {
			objects = append(objects, o)
		}
		return kept, len(objects) < maxRetried
	})
	if len(objects) == maxRetried {
		next = objects[maxRetried-1].path
	}
	return objects, next
}
