package compare

import (
	"context"
	"fmt"
	"iter"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/source"
)

type sequence = iter.Seq2[client.Object, error]

// objects returns the objects of a query; nil: there are none.
func objects(ctx context.Context, from *source.Source, q *client.Query) sequence {
	if q == nil {
		return func(func(client.Object, error) bool) {}
	}
	return from.Objects(ctx, *q)
}

// merge calls pair for each object of two sequences, which are in the order of their keys in etcd. It holds one object of each. before or after is
// nil if a sequence does not have the object.
func merge(a, b sequence, pair func(before, after *client.Object) error) error {
	x, stopX := newCursor(a)
	defer stopX()
	y, stopY := newCursor(b)
	defer stopY()
	for {
		if x.err != nil {
			return x.err
		}
		if y.err != nil {
			return y.err
		}
		var before, after *client.Object
		switch {
		case x.done && y.done:
			return nil
		case y.done || !x.done && x.key < y.key:
			before = x.take()
		case x.done || y.key < x.key:
			after = y.take()
		default:
			before, after = x.take(), y.take()
		}
		if err := pair(before, after); err != nil {
			return err
		}
	}
}

// cursor is a position in a sequence.
type cursor struct {
	next   func() (client.Object, error, bool)
	object client.Object
	key    string
	done   bool
	err    error
}

func newCursor(s sequence) (c *cursor, stop func()) {
	next, stop := iter.Pull2(s)
	c = &cursor{next: next}
	c.advance()
	return c, stop
}

// take returns the object, and goes to the next one.
func (c *cursor) take() *client.Object {
	out := c.object
	c.advance()
	return &out
}

func (c *cursor) advance() {
	o, err, ok := c.next()
	if c.done, c.err = !ok, err; !ok || err != nil {
		return
	}
	key := o.Namespace + "/" + o.Name // in the order of etcd, as "a-b/x" is before "a/x"
	if key <= c.key {
		c.err = fmt.Errorf("the server lists %s after %s: lists that are not sorted cannot be compared", key, c.key)
	}
	c.object, c.key = o, key
}
