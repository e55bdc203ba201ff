package watchcache

import (
	"slices"
	"sort"
	"strings"
)

const (
	// A block holds about blockSize bytes of documents and blockObjects objects. Smaller blocks make a list need more writes;
	// larger ones make a change copy a longer order.
	blockSize    = 64 << 10
	blockObjects = 128
	// looseSize is how many bytes of a block may lie outside its text, whatever its size.
	looseSize = 4 << 10
)

// block holds neighbouring objects in the order of their paths: those that it has packed, and those that changed afterwards. A block is immutable; a
// change replaces it.
type block struct {
	low    string // lower bound of its paths, and upper bound of the previous block's
	size   int    // bytes of all objects in a list
	packed *packed
	// order has the objects in their order: an index of packed, or the complement (^) of an index of loose. Nil: all of packed, and no others.
	order   []int16
	loose   []*Object // in no order
	present int       // bytes of the text of packed that belong to objects of the block
}

// len is the number of objects.
func (b *block) len() int {
	if b.order == nil && b.packed != nil {
		return len(b.packed.entries)
	}
	return len(b.order)
}

// at returns the index in packed of the object at an index; or the object, if it is loose.
func (b *block) at(i int) (entry int, loose *Object) {
	if b.order == nil {
		return i, nil
	}
	if entry = int(b.order[i]); entry < 0 {
		return 0, b.loose[^entry]
	}
	return entry, nil
}

// object returns the object at an index.
func (b *block) object(i int) *Object {
	entry, loose := b.at(i)
	if loose != nil {
		return loose
	}
	o := b.packed.object(entry)
	return &o
}

func (b *block) path(i int) string {
	entry, loose := b.at(i)
	if loose != nil {
		return loose.path
	}
	return b.packed.path(entry)
}

// objectSize is the bytes of the object at an index in a list.
func (b *block) objectSize(i int) int {
	entry, loose := b.at(i)
	if loose != nil {
		return loose.size()
	}
	return b.packed.size(entry)
}

// all returns the objects. Those that are packed share the memory of the block.
func (b *block) all() []*Object {
	all := make([]*Object, 0, b.len())
	blockRun{b, 0, b.len()}.visit("", new(views), each(func(o *Object) bool {
		all = append(all, o)
		return true
	}))
	return all
}

// looseBytes is how many bytes of the objects are outside of the text.
func (b *block) looseBytes() int { return b.size - b.present }

// released is how many bytes of text and of loose objects become garbage when another block has all objects.
func (b *block) released() int { return b.textSize() + b.looseBytes() }

func (b *block) textSize() int {
	if b.packed == nil {
		return 0
	}
	return len(b.packed.text)
}

// find returns the index of an object, or where to insert it.
func (b *block) find(path string) (i int, found bool) {
	return sort.Find(b.len(), func(i int) int { return strings.Compare(path, b.path(i)) })
}

// search returns the index of the first object for whose path a condition holds, which then holds for all following ones.
func (b *block) search(from int, holds func(path string) bool) int {
	return from + sort.Search(b.len()-from, func(i int) bool { return holds(b.path(from + i)) })
}

// with returns the block with an object inserted, or replaced where the path is present.
func (b *block) with(o *Object) *block {
	i, found := b.find(o.path)
	out := b.changed()
	if found {
		out.drop(i)
	} else {
		out.order = slices.Insert(out.order, i, 0)
	}
	out.size += o.size()
	out.loose = append(out.loose, o)
	out.order[i] = ^int16(len(out.loose) - 1)
	return out
}

// without returns the block without the object at an index.
func (b *block) without(i int) *block {
	out := b.changed()
	out.drop(i)
	out.order = slices.Delete(out.order, i, i+1)
	return out
}

// changed returns a copy, with memory of its own for order and loose, and room for one more of each.
func (b *block) changed() *block {
	out := *b
	out.order = make([]int16, b.len(), b.len()+1)
	if copy(out.order, b.order) == 0 {
		for i := range out.order {
			out.order[i] = int16(i)
		}
	}
	out.loose = append(make([]*Object, 0, len(b.loose)+1), b.loose...)
	return &out
}

// drop removes the object at an index of a copy, whose place in order the caller fills or deletes. The last loose object takes the place of a loose one.
func (b *block) drop(i int) {
	b.size -= b.objectSize(i)
	at := b.order[i]
	if at >= 0 {
		b.present -= b.packed.size(int(at))
		return
	}
	last := len(b.loose) - 1
	b.loose[^at] = b.loose[last]
	b.order[slices.Index(b.order, ^int16(last))] = at
	b.loose = slices.Delete(b.loose, last, last+1)
}

// rebalance yields the blocks that replace a changed block: several when it is too large, and a newly written one when documents
// outside the text and text of removed objects exceed a quarter of its size. So a new object costs a copy of four times its size,
// and a changed one, which is both, of eight; memory and lists cost at most a quarter more than with a new text.
func (b *block) rebalance(yield func(*block)) {
	loose, gone := b.looseBytes(), b.textSize()-b.present
	if !fits(b.size, b.len()) || 4*(loose+gone) > max(b.size, 4*looseSize) && (b.len() > 1 || b.packed != nil) {
		split(b.low, b.all(), b.size, yield)
		return
	}
	yield(b)
}

func fits(size, count int) bool { return count <= 1 || size <= 2*blockSize && count <= 2*blockObjects }

// split makes one block of objects, or several of about the same size.
func split(low string, objects []*Object, size int, yield func(*block)) {
	if fits(size, len(objects)) {
		yield(newBlock(low, objects, size))
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

// newBlock copies objects of a size. A single one is not packed.
func newBlock(low string, objects []*Object, size int) *block {
	b := &block{low: strings.Clone(low), size: size} // low may be a part of the keys of a page
	switch len(objects) {
	case 0:
	case 1:
		b.order, b.loose = []int16{^0}, []*Object{objects[0].detached()}
	default:
		b.packed, b.present = pack(objects), size
	}
	return b
}
