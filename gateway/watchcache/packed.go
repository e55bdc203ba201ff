package watchcache

import (
	"bytes"
	"strings"

	"revtail/encoding"
	"revtail/etcdstore"
)

// packed holds objects in the order of their paths, in a few allocations and without a pointer for each: an object costs 24 bytes beside its
// document and its path, and Go's garbage collector looks at none. It is immutable.
type packed struct {
	text    []byte // documents, a comma after each
	paths   string // one after the other
	entries []entry
	invalid map[int]error // Object.Invalid of those that have it, by index; nil: none
}

// entry is an object of packed. Its document and its path begin where those of the entry before end.
type entry struct {
	revision  etcdstore.Revision
	textEnd   uint32 // after the comma
	pathEnd   uint32
	positions encoding.Positions
}

// pack copies objects. The document of an invalid one may be empty.
func pack(objects []*Object) *packed {
	paths := 0
	for _, o := range objects {
		paths += len(o.path)
	}
	var names strings.Builder
	names.Grow(paths)
	p, size := &packed{entries: make([]entry, len(objects))}, 0
	documents := make([][]byte, len(objects), len(objects)+1)
	for i, o := range objects {
		documents[i] = o.JSON
		names.WriteString(o.path)
		size += o.size()
		p.entries[i] = entry{revision: o.Revision, textEnd: uint32(size), pathEnd: uint32(names.Len()), positions: o.Positions}
		if o.Invalid != nil {
			p.setInvalid(i, o.Invalid)
		}
	}
	p.text, p.paths = bytes.Join(append(documents, nil), comma), names.String() // a comma follows the last document too
	return p
}

func (p *packed) setInvalid(i int, reason error) {
	if p.invalid == nil {
		p.invalid = make(map[int]error)
	}
	p.invalid[i] = reason
}

// document returns the bounds of a document in text. The comma is at to.
func (p *packed) document(i int) (from, to int) {
	if i > 0 {
		from = int(p.entries[i-1].textEnd)
	}
	return from, int(p.entries[i].textEnd) - len(comma)
}

// size is the bytes of an object in a list.
func (p *packed) size(i int) int {
	from, to := p.document(i)
	return to - from + len(comma)
}

func (p *packed) path(i int) string {
	from := uint32(0)
	if i > 0 {
		from = p.entries[i-1].pathEnd
	}
	return p.paths[from:p.entries[i].pathEnd]
}

// object returns an object that shares the memory of p.
func (p *packed) object(i int) Object {
	e := &p.entries[i]
	from, to := p.document(i)
	return Object{
		Object:   encoding.Object{JSON: p.text[from:to:to], Positions: e.positions},
		Revision: e.revision, Invalid: p.invalid[i], path: p.path(i), shared: true,
	}
}
