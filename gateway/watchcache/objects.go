package watchcache

import (
	"sort"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// objects is a set of objects in the order of their paths: a B-tree of blocks. It has one owner; copies are immutable.
type objects struct {
	blocks *btree.BTreeG[*block] // by low; the first one's is empty
	count  int
	size   int   // of all objects in a list
	ranks  ranks // of a copy

	released int // bytes of memory that changes have released: a copy of before keeps them
}

func newObjects() *objects {
	low := func(a, b *block) bool { return a.low < b.low }
	return &objects{blocks: btree.NewBTreeGOptions(low, btree.Options{NoLocks: true})}
}

// copy is O(1), because later changes copy the nodes that they touch.
func (s *objects) copy() *objects {
	return &objects{blocks: s.blocks.Copy(), count: s.count, size: s.size, released: s.released}
}

// block returns the block that contains a path; nil: the set is empty.
func (s *objects) block(path string) (b *block) {
	s.blocks.Descend(&block{low: path}, func(found *block) bool {
		b = found
		return false
	})
	return b
}

// get returns the object of a path; nil: there is none.
func (s *objects) get(path string) *Object {
	if b := s.block(path); b != nil {
		if i, found := b.find(path); found {
			return b.object(i)
		}
	}
	return nil
}

// set adds an object, or replaces the one with its path.
func (s *objects) set(o *Object) {
	b := s.block(o.path)
	if b == nil {
		b = &block{}
	}
	s.replace(b, b.with(o), o.size())
}

func (s *objects) remove(path string) {
	if b := s.block(path); b != nil {
		if i, found := b.find(path); found {
			s.replace(b, b.without(i), 0)
		}
	}
}

// changeSize is about how many bytes of the tree's nodes a change copies.
const changeSize = 1 << 10

// replace installs a changed block, whose new object has a size, or is none. An empty block is deleted, except for the first: every path has a block.
func (s *objects) replace(b, next *block, added int) {
	s.count += next.len() - b.len()
	s.size += next.size - b.size
	s.released += changeSize + 2*b.len() + 8*len(b.loose)
	if next.len() == 0 && next.low != "" {
		s.released += b.released()
		s.blocks.Delete(b)
		return
	}
	released := b.looseBytes() + added - next.looseBytes() // the object that was replaced or removed, unless it is a part of the text
	next.rebalance(func(written *block) {
		if written != next {
			released = b.released()
		}
		s.blocks.Set(written)
	})
	s.released += released
}

// fill adds objects in the order of their paths, behind all others.
func (s *objects) fill(ordered []*Object) {
	for len(ordered) > 0 {
		n, size := 0, 0
		for n < len(ordered) && n < blockObjects && (n == 0 || size+ordered[n].size() <= blockSize) {
			size += ordered[n].size()
			n++
		}
		low := ordered[0].path
		if s.count == 0 {
			low = ""
		}
		s.blocks.Set(newBlock(low, ordered[:n], size))
		s.count, s.size = s.count+n, s.size+size
		ordered = ordered[n:]
	}
}

// runs yields the objects with paths greater than after, of one namespace or of all, in their order. Between the first block and
// the last it reads blocks but no objects, because objects cost a cache miss each.
func (s *objects) runs(namespace, after string, yield func(blockRun) bool) {
	prefix, last := pathPrefix(namespace), (*block)(nil)
	first := s.block(max(prefix, after))
	if first == nil {
		return
	}
	if prefix != "" {
		end := namespace + afterSlash
		if after >= end {
			return
		}
		last = s.block(end)
	}
	s.blocks.Ascend(first, func(b *block) bool {
		from, to := 0, b.len()
		if b == first {
			from = b.search(0, func(path string) bool { return path > after && path >= prefix })
		}
		if b == last {
			to = b.search(from, func(path string) bool { return !strings.HasPrefix(path, prefix) })
		}
		return (from == to || yield(blockRun{b, from, to})) && b != last
	})
}

// afterSlash follows the slash in the order of bytes: it bounds the paths of a namespace.
const afterSlash = "0"

// ascend visits the objects within a scope whose paths are greater than after, in their order.
func (s *objects) ascend(in scope, after string, by visitor) {
	if in.name != "" {
		o := s.get(in.objectPath())
		if o != nil && o.path > after {
			by(o)
		}
		if o != nil || in.namespace != "" {
			return
		}
	}
	var memory views
	s.runs(in.namespace, after, func(part blockRun) bool { return part.visit(in.name, &memory, by) })
}

// rangeView is a range of the paths of a state.
type rangeView struct {
	state     *objects
	namespace string // empty: all
	after     string // only greater paths
	limit     int    // of objects; zero: all
}

func (e rangeView) runs(yield func(blockRun) bool) {
	left := e.limit
	e.state.runs(e.namespace, e.after, func(s blockRun) bool {
		if e.limit > 0 {
			s.to = min(s.to, s.from+left)
			left -= s.to - s.from
		}
		return yield(s) && (e.limit <= 0 || left > 0)
	})
}

func (e rangeView) objects(yield func(*Object) bool) {
	var memory views
	e.runs(func(s blockRun) bool { return s.visit("", &memory, each(yield)) })
}

// end returns how many objects of the state come before the end of the namespace.
func (e rangeView) end() int {
	if e.namespace == "" {
		return e.state.count
	}
	return e.state.rank(e.namespace + afterSlash)
}

// text yields the documents, each with a comma after it, in as few byte slices as memory allows.
func (e rangeView) text(yield func([]byte) bool) {
	e.runs(func(s blockRun) bool { return s.pieces(yield) })
}

// measure reads the blocks of the range, and no objects: size is the bytes of the range in a list, more the number of objects after the limit, and
// last the path of the last object in the range if more follow.
func (e rangeView) measure() (size int, more int64, last string) {
	if e.limit <= 0 && e.namespace == "" && e.after == "" {
		return e.state.size, 0, ""
	}
	var end blockRun
	e.runs(func(s blockRun) bool {
		size, end = size+s.size(), s
		return true
	})
	if e.limit > 0 && end.block != nil {
		last = end.block.path(end.to - 1)
		more = int64(e.end() - e.state.rank(last) - 1)
	}
	if more == 0 {
		last = ""
	}
	return size, more, last
}

// ranks says how many objects of an immutable set come before each of its blocks, so that the number of objects after a page costs no look at all of
// them. It is made by the first list that is limited.
type ranks struct {
	once   sync.Once
	blocks []*block // in order
	before []int    // objects before each of blocks
}

// rank returns how many objects have paths less than path. The set is immutable.
func (s *objects) rank(path string) int {
	r := &s.ranks
	r.once.Do(func() {
		n := 0
		s.blocks.Scan(func(b *block) bool {
			r.blocks, r.before = append(r.blocks, b), append(r.before, n)
			n += b.len()
			return true
		})
	})
	i := sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].low > path }) - 1
	if i < 0 {
		return 0
	}
	return r.before[i] + r.blocks[i].search(0, func(p string) bool { return p >= path })
}
