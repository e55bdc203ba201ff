package watchcache

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// A block holds about blockSize bytes of documents and blockObjects objects. Smaller blocks make a list need more writes;
	// larger ones make a change copy more pointers.
	blockSize    = 64 << 10
	blockObjects = 128
	// looseSize is how many bytes of a block may lie outside its text, whatever its size.
	looseSize = 4 << 10
)

// block holds neighbouring objects in the order of their paths. Its text holds their documents in list format, except for objects
// that changed after the text was written. A block is immutable; a change replaces it.
type block struct {
	low     string    // lower bound of its paths, and upper bound of the previous block's
	objects []*Object // in the order of their paths
	size    int       // bytes of all objects in a list
	text    []byte    // documents, a comma after each, in order; some may belong to removed objects
	packed  int       // bytes of text that belong to present objects
}

// loose is how many bytes of the objects are outside the text.
func (b *block) loose() int { return b.size - b.packed }

// find returns the index of an object, or where to insert it.
func (b *block) find(path string) (i int, found bool) {
	return slices.BinarySearchFunc(b.objects, path, func(o *Object, path string) int { return strings.Compare(o.path, path) })
}

// with returns the block with an object inserted, or replaced where the path is present.
func (b *block) with(o *Object) *block {
	out := *b
	out.size += o.size()
	i, found := b.find(o.path)
	if found {
		out.subtract(b.objects[i])
		out.objects = slices.Clone(b.objects)
		out.objects[i] = o
		return &out
	}
	out.objects = slices.Concat(b.objects[:i], []*Object{o}, b.objects[i:])
	return &out
}

// without returns the block without the object at an index.
func (b *block) without(i int) *block {
	out := *b
	out.subtract(b.objects[i])
	out.objects = slices.Concat(b.objects[:i], b.objects[i+1:])
	return &out
}

func (b *block) subtract(o *Object) {
	b.size -= o.size()
	if o.packed > 0 {
		b.packed -= o.size()
	}
}

// rebalance yields the blocks that replace a changed block: several when it is too large, and a newly written one when documents
// outside the text and text of removed objects exceed a quarter of its size. So a new object costs a copy of four times its size,
// and a changed one, which is both, of eight; memory and lists cost at most a quarter more than with a new text.
func (b *block) rebalance(yield func(*block)) {
	loose, gone := b.loose(), len(b.text)-b.packed
	if !fits(b.size, len(b.objects)) || 4*(loose+gone) > max(b.size, 4*looseSize) && (len(b.objects) > 1 || b.text != nil) {
		split(b.low, b.objects, b.size, yield)
		return
	}
	yield(b)
}

func fits(size, count int) bool { return count <= 1 || size <= 2*blockSize && count <= 2*blockObjects }

// split packs objects into one block, or into several of about the same size.
func split(low string, objects []*Object, size int, yield func(*block)) {
	if fits(size, len(objects)) {
		yield(pack(low, objects))
		return
	}
	cut, left := 1, objects[0].size()
	for cut < len(objects)-1 && 2*left < size {
		left += objects[cut].size()
		cut++
	}
	split(low, objects[:cut], left, yield)
	split(objects[cut].path, objects[cut:], size-left, yield)
}

// pack writes a block: one allocation for the documents, one for the paths and one for the rest. A single object stays outside.
func pack(low string, objects []*Object) *block {
	b := &block{low: strings.Clone(low), objects: make([]*Object, len(objects))} // low may be a part of the keys of a page
	paths := 0
	for _, o := range objects {
		b.size += o.size()
		paths += len(o.path)
	}
	if len(objects) == 1 {
		b.objects[0] = objects[0].detached()
		return b
	}
	var names strings.Builder
	names.Grow(paths)
	documents := make([][]byte, len(objects), len(objects)+1)
	for i, o := range objects {
		documents[i] = o.JSON
		names.WriteString(o.path)
	}
	b.text, b.packed = bytes.Join(append(documents, nil), comma), b.size // a comma follows the last document too
	packed, all, end := make([]Object, len(objects)), names.String(), 0
	for i, o := range objects {
		start := end
		end += o.size()
		packed[i] = *o
		packed[i].Object = o.At(b.text[start : end-1 : end-1])
		packed[i].path, all = all[:len(o.path)], all[len(o.path):]
		packed[i].packed = uint32(start + 1)
		b.objects[i] = &packed[i]
	}
	return b
}

// blockRun is a range of neighbouring objects in a block.
type blockRun struct {
	block    *block
	from, to int
}

func (s blockRun) objects() []*Object { return s.block.objects[s.from:s.to] }

// size is the bytes of the objects in a list.
func (s blockRun) size() int {
	if s.to-s.from == len(s.block.objects) {
		return s.block.size
	}
	size := 0
	for _, o := range s.objects() {
		size += o.size()
	}
	return size
}

var comma = []byte(",")

// pieces yields the documents, each with a comma after it, in as few byte slices as memory allows.
func (s blockRun) pieces(yield func([]byte) bool) bool {
	b := s.block
	if s.to-s.from == len(b.objects) && b.packed == b.size && len(b.text) == b.size {
		return yield(b.text)
	}
	start, end := 0, 0 // bounds of the slice of text that grows
	for _, o := range s.objects() {
		at := int(o.packed) - 1
		if at == end && end > start {
			end += o.size()
			continue
		}
		if end > start && !yield(b.text[start:end]) {
			return false
		}
		start, end = 0, 0
		switch {
		case at >= 0:
			start, end = at, at+o.size()
		case !yield(o.JSON) || !yield(comma):
			return false
		}
	}
	return end == start || yield(b.text[start:end])
}
