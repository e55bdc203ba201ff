package historyapi

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// cursor is a place in the entries of a reader.
type cursor struct {
	reader *Reader
	next   func() (Entry, error, bool)
	entry  Entry
	err    error
	done   bool
}

func (c *cursor) advance() {
	var ok bool
	if c.entry, c.err, ok = c.next(); !ok {
		c.done = true
	}
}

// parallel is how many first pages are read at once.
const parallel = 4

// Merge returns the entries of several readers, ordered by revision, with the index of their reader. A gap that several of them have is returned once. skip
// decides about an error of a reader whether the others are read without it; nil: no. Any other error ends the sequence.
func Merge(ctx context.Context, readers []*Reader, skip func(i int, err error) bool) iter.Seq2[Merged, error] {
	return func(yield func(Merged, error) bool) {
		cursors := make([]*cursor, len(readers))
		for i, r := range readers {
			next, stop := iter.Pull2(r.Entries(ctx))
			defer stop()
			cursors[i] = &cursor{reader: r, next: next}
		}
		advanceAll(cursors)
		for gaps := make(map[[2]int64]bool); ; {
			i := first(cursors)
			if i < 0 {
				return
			}
			c := cursors[i]
			switch gap := [2]int64{c.entry.After, c.entry.Until}; {
			case c.err != nil && (skip == nil || !skip(i, c.err)):
				yield(Merged{Index: i}, c.err)
				return
			case c.err != nil:
				c.done = true
				continue
			case c.entry.IsGap() && gaps[gap]:
			case c.entry.IsGap():
				gaps[gap] = true
				fallthrough
			default:
				if !yield(Merged{Entry: c.entry, Index: i}, nil) {
					return
				}
			}
			c.advance()
		}
	}
}

// Merged is an entry of one of several readers.
type Merged struct {
	Entry

	Index int // of the reader
}

// advanceAll reads the first entries, several at once.
func advanceAll(cursors []*cursor) {
	var running sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, c := range cursors {
		slots <- struct{}{}
		running.Go(func() {
			c.advance()
			<-slots
		})
	}
	running.Wait()
}

// first returns the index of the cursor with an error, or with the oldest entry; -1: all have ended.
func first(cursors []*cursor) int {
	if i := slices.IndexFunc(cursors, func(c *cursor) bool { return !c.done && c.err != nil }); i >= 0 {
		return i
	}
	found := -1
	for i, c := range cursors {
		if !c.done && (found < 0 || c.entry.order() < cursors[found].entry.order()) {
			found = i
		}
	}
	return found
}
