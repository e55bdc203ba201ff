package watchcache

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// blockSize is about how many bytes of documents a block holds, and blockObjects how many of them: a list writes blocks, and
	// of fewer bytes a write is dearer; of a changed block the pointers to its objects are copied.
	blockSize    = 64 << 10
	blockObjects = 128
	// looseSize is how much of a block may be in pieces, whatever its size.
	looseSize = 4 << 10
)

// block is some objects that are neighbours in the order of their paths. Their documents stand in one text, ready for a list,
// but for those that have changed since it was written. A block does not change: another one takes its place.
type block struct {
	low     string    // no path in the block is less, and all paths of the block before are
	objects []*Object // in the order of their paths
	size    int       // of all of them in a list
	text    []byte    // documents with a comma behind each, in order; some may be of objects that are gone
	packed  int       // how much of text is of objects that are there
}

// find is where an object stands, or belongs.
func (b *block) find(path string) (i int, found bool) {
	return slices.BinarySearchFunc(b.objects, path, func(o *Object, path string) int { return strings.Compare(o.path, path) })
}

// with is the block with an object in the place of one with the same path, or beside all that it has.
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
	out.objects = make([]*Object, len(b.objects)+1)
	copy(out.objects, b.objects[:i])
	out.objects[i] = o
	copy(out.objects[i+1:], b.objects[i:])
	return &out
}

// without is the block without the object at a place.
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

// settle yields what the block becomes after a change: several where it has become large; and written anew where what is in
// pieces, and what is text of objects that are gone, are together more than a quarter of it. So a new object costs the copying of four
// times its size, and a changed one, which is both, of eight; memory and lists cost a quarter more at most than a new text would.
func (b *block) rebalance(yield func(*block)) {
	loose, gone := b.size-b.packed, len(b.text)-b.packed
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

// pack makes a block of objects whose texts stand side by side: one piece of memory for the documents, one for the paths and
// one for the rest. A single object stays as it is.
func pack(low string, objects []*Object) *block {
	b := &block{low: low, objects: make([]*Object, len(objects))}
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
	b.text, b.packed = bytes.Join(append(documents, nil), comma), b.size // with a comma behind the last, too
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

// stretch is neighbours in a block.
type blockRun struct {
	block    *block
	from, to int
}

func (s blockRun) objects() []*Object { return s.block.objects[s.from:s.to] }

// size is how many bytes the objects take of a list.
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

// pieces yields the documents, each with a comma behind it, in as few pieces as they stand in memory.
func (s blockRun) pieces(yield func([]byte) bool) bool {
	b := s.block
	if s.to-s.from == len(b.objects) && b.packed == b.size && len(b.text) == b.size {
		return yield(b.text)
	}
	start, end := 0, 0 // of the piece of text that is collected
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
