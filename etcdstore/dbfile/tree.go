package dbfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDepth is more than the depth of any tree that fits into a file: a branch has at least two children.
const maxDepth = 64

// bucket is a tree of keys and values.
type bucket struct {
	root   uint64
	inline []byte // the only page, of a small bucket; nil: it has pages of its own
	at     int64  // of inline in the file
}

// item is a key with its value.
type item struct {
	key   []byte // valid during the visit
	flags uint32
	page  page
	from  int64 // where the value begins in the page
	size  int64 // of the value
}

// walk visits the items of a bucket in the order of their keys. The error is that of visit, or says which page is damaged.
func (p *pages) walk(b bucket, visit func(item) error) error {
	w := &walker{pages: p, visit: visit, left: p.count}
	if b.inline == nil {
		return w.walk(b.root, 0)
	}
	got := page{at: b.at, data: b.inline, limit: int64(len(b.inline))}
	if len(b.inline) < pageHeader {
		return errors.New("a small bucket is damaged")
	}
	if err := p.complete(&got, new([]byte)); err != nil {
		return fmt.Errorf("a small bucket: %w", err)
	}
	if got.kind != leafPage {
		return errors.New("a small bucket is damaged: it is no leaf")
	}
	return w.leaf(got)
}

// walker walks a tree. It ends in any file: the depth is limited, and so is the number of pages, because a page has one parent.
type walker struct {
	pages   *pages
	visit   func(item) error
	left    uint64   // pages that it may still read
	buffers [][]byte // one for each level
	last    []byte   // the key of the last item
}

func (w *walker) walk(id uint64, depth int) error {
	if depth == maxDepth || w.left == 0 {
		return fmt.Errorf("page %d is damaged: it is its own parent", id)
	}
	w.left--
	if depth == len(w.buffers) {
		w.buffers = append(w.buffers, nil)
	}
	got, err := w.pages.read(id, &w.buffers[depth])
	if err != nil {
		return err
	}
	if got.kind == leafPage {
		if err = w.leaf(got); err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		return nil
	}
	for i := range got.count {
		e, err := got.element(i)
		if err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		if err := w.walk(e.child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) leaf(got page) error {
	for i := range got.count {
		e, err := got.element(i)
		if err != nil {
			return err
		}
		key, err := w.pages.bytes(got, e.key, e.size)
		if err != nil {
			return err
		}
		if w.last != nil && bytes.Compare(key, w.last) <= 0 {
			return errors.New("it is damaged: its keys are not in order")
		}
		w.last = append(w.last[:0], key...)
		if err := w.visit(item{key: key, flags: e.flags, page: got, from: e.key + e.size, size: e.value}); err != nil {
			return err
		}
	}
	return nil
}

// value returns the first bytes of the value of an item, at most limit. They are valid during the visit.
func (p *pages) value(of item, limit int64) ([]byte, error) {
	return p.bytes(of.page, of.from, min(of.size, limit))
}

// maxInline is more than a small bucket has: bbolt keeps a bucket in the page of its parent if it fills at most a quarter of a page.
const maxInline = maxPageSize

// buckets returns the buckets of the database.
func (p *pages) buckets() (map[string]bucket, error) {
	found := make(map[string]bucket)
	err := p.walk(bucket{root: p.root}, func(of item) error {
		if of.flags&bucketLeaf == 0 {
			return nil
		}
		value, err := p.value(of, maxInline)
		if err != nil || len(value) < bucketLen {
			return errors.Join(errors.New("a bucket is damaged"), err)
		}
		b := bucket{root: binary.LittleEndian.Uint64(value)}
		if b.root == 0 {
			b.inline, b.at = bytes.Clone(value[bucketLen:]), of.page.at+of.from+bucketLen
		}
		found[string(of.key)] = b
		return nil
	})
	return found, err
}
