package watchcache

import (
	"context"
	"iter"
	"slices"

	"revtail/etcdstore"
	"revtail/gateway/access/cputime"
	"revtail/gateway/watchcache/filter"
	"revtail/gateway/watchcache/selector"
	"revtail/gateway/watchcache/snapshots"
)

// ListQuery says what to list.
type ListQuery struct {
	Namespace string // empty: all
	Name      string // empty: all
	Selector  *selector.Selector
	Filter    *filter.Filter // nil: everything

	At      etcdstore.Revision // the state as of this revision; zero: the newest cached one
	AtLeast etcdstore.Revision // wait for this revision; zero: do not wait
	After   string             // only objects with a greater Path; empty: from the start
	Limit   int                // at most so many objects; zero: all
	Own     bool               // the list is internal: its state is not kept, because no client asks for the next page

	Account *cputime.Account // pays for the evaluation of Selector and Filter; nil: nobody does
}

func (q *ListQuery) scope() scope { return scope{q.Namespace, q.Name} }

// List is the result of a query.
type List struct {
	Revision etcdstore.Revision
	Objects  iter.Seq[*Object] // in the order of their paths
	// Text yields the documents of the objects, each with a comma after it, in as few byte slices as memory allows; Size is the
	// sum of their lengths. Nil where the query has to look at each object.
	Text iter.Seq[[]byte]
	Size int
	// Continue is the Path of the last object if more follow, else empty.
	Continue string
	// Remaining is how many objects follow; nil: none, or a selector or filter hides the number.
	Remaining *int64
	// Invalid names undecodable values in the scope: at most maxInvalid of InvalidCount.
	Invalid      []*Object
	InvalidCount int
	// Turn pays for the evaluation of Selector and Filter, and for what the caller makes of the objects. Objects continues it, and does not end it before
	// it yields an object: the caller ends it before it waits for anything, such as a client.
	Turn cputime.Turn

	cache    *Cache                    // nil: the list is not from memory
	snapshot *snapshot                 // until Hold
	held     *snapshots.Held[snapshot] // nil: without Hold
}

const maxInvalid = 5

// Hold counts the state of the list among those that clients read, until Release. A caller that writes the list to a client, which may be slow, calls
// it once before, and breaks the response when Err is not nil.
func (l *List) Hold() {
	if c := l.cache; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		l.held = c.held.Hold(l.snapshot, l.snapshot.cost(), c.current.cost())
		l.snapshot = nil // the set may drop it
	}
}

// Release ends Hold. It does nothing without one.
func (l *List) Release() {
	if l.held != nil {
		l.cache.mu.Lock()
		defer l.cache.mu.Unlock()
		l.cache.held.Release(l.held)
	}
}

// Err returns a *SlowReaderError when the rest of the list must not be written, because its state takes too much memory. Objects and Text do not end
// then.
func (l *List) Err() error {
	if l.held != nil && l.held.Snapshot() == nil {
		return &SlowReaderError{Revision: l.Revision}
	}
	return nil
}

// List answers from memory where it can. Errors: *NotReadyError, *TooLargeError, *etcdstore.CompactedError, *filter.CostError, and
// those of the store; *etcdstore.UnreadableError if a value in the scope cannot be decrypted.
func (c *Cache) List(ctx context.Context, q ListQuery) (*List, error) {
	if q.At == 0 {
		if err := c.WaitUntil(ctx, q.AtLeast); err != nil {
			return nil, err
		}
		s, _ := c.currentSnapshot()
		return c.list(ctx, &s, q)
	}
	s, err := c.snapshotAt(ctx, q.At)
	if err != nil {
		return nil, err
	}
	list, err := c.list(ctx, s, q)
	if err != nil {
		return nil, err
	}
	list.Revision = q.At
	return list, nil
}

// Get returns one object from memory, in a state not older than atLeast; nil: the object does not exist.
func (c *Cache) Get(ctx context.Context, path string, atLeast etcdstore.Revision) (*Object, error) {
	if err := c.WaitUntil(ctx, atLeast); err != nil {
		return nil, err
	}
	s, _ := c.currentSnapshot()
	return s.get(path), nil
}

// Peek returns one object from memory without waiting; nil: the object does not exist, or the cache is not ready.
func (c *Cache) Peek(path string) *Object {
	if s, ready := c.currentSnapshot(); ready {
		return s.get(path)
	}
	return nil
}

func (c *Cache) list(ctx context.Context, s *snapshot, q ListQuery) (*List, error) {
	if err := s.checkReadable(q.scope(), q.After); err != nil {
		return nil, err
	}
	list := &List{Revision: s.revision, Turn: q.Account.Turn(), cache: c, snapshot: s}
	s.invalid.ascend(q.scope(), q.After, func(o *Object) (kept, more bool) {
		list.InvalidCount++
		if kept = len(list.Invalid) < maxInvalid; kept {
			list.Invalid = append(list.Invalid, o)
		}
		return kept, true
	})
	switch {
	case q.Filter == nil && q.Selector.Empty() && q.Name == "":
		list.fromRange(rangeView{s.objects, q.Namespace, q.After, q.Limit})
	case q.Filter == nil && q.Limit <= 0: // the caller's iteration searches them
		list.Objects = func(yield func(*Object) bool) { list.selectFrom(s.objects, q, yield) }
	default:
		if err := list.search(ctx, s.objects, q, c); err != nil {
			return nil, err
		}
	}
	if list.Continue != "" && !q.Own {
		c.mu.Lock()
		c.held.Keep(s, s.cost(), c.current.cost())
		c.mu.Unlock()
	}
	return list, nil
}

// fromRange makes a list of a range of paths.
func (l *List) fromRange(e rangeView) {
	l.Objects, l.Text = e.objects, e.text
	var more int64
	if l.Size, more, l.Continue = e.measure(); more > 0 {
		l.Remaining = &more
	}
}

// search makes a list of the objects that match, before the response begins: a filter can fail, and the head of a page says whether more
// follow. The number of further matches is not worth a scan.
func (l *List) search(ctx context.Context, in *objects, q ListQuery, c *Cache) (err error) {
	page := make([]*Object, 0, min(q.Limit, 1024))
	defer l.Turn.End()
	in.ascend(q.scope(), q.After, func(o *Object) (kept, more bool) {
		if kept, err = matches(ctx, &l.Turn, q.Selector, q.Filter, o, c); !kept || err != nil {
			return false, err == nil
		}
		if q.Limit > 0 && len(page) == q.Limit {
			l.Continue = page[len(page)-1].path
			return false, false
		}
		page = append(page, o)
		return true, true
	})
	l.Objects = slices.Values(page)
	return err
}

// selectFrom yields the objects that the selector matches.
func (l *List) selectFrom(in *objects, q ListQuery, yield func(*Object) bool) {
	defer l.Turn.End()
	in.ascend(q.scope(), q.After, func(o *Object) (kept, more bool) {
		_ = l.Turn.ContinueBytes(len(o.JSON)) // a list that has begun goes on: its time is limited
		if !q.Selector.Matches(o) {
			return false, true
		}
		return true, yield(o)
	})
}

// matches reports whether a list or the initial events show an object. The turn pays for it.
func matches(ctx context.Context, turn *cputime.Turn, s *selector.Selector, f *filter.Filter, o *Object, in *Cache) (bool, error) {
	if err := turn.ContinueBytes(len(o.JSON)); err != nil {
		return false, err
	}
	if ok := s.Matches(o); !ok || f == nil {
		return ok, nil
	}
	if err := turn.Continue(); err != nil {
		return false, err
	}
	return f.Matches(ctx, o.input(in))
}
