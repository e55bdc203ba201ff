package watchcache

// blockRun is a range of neighbouring objects in a block.
type blockRun struct {
	block    *block
	from, to int
}

// views is memory for objects that are made from packed ones: at first for two.
type views struct {
	free []Object
	made int // at once
}

// next is the memory of the next object. It is the same one until keep.
func (v *views) next() *Object {
	if len(v.free) == 0 {
		v.made = min(max(2*v.made, 2), 32)
		v.free = make([]Object, v.made)
	}
	return &v.free[0]
}

// keep leaves the memory of the last object to it.
func (v *views) keep() { v.free = v.free[1:] }

// visitor gets an object, and says whether it keeps it, and whether it wants more. The next object may have the memory of one that is not kept.
type visitor func(*Object) (kept, more bool)

// visit visits the objects with a name; empty: all. Those that are packed share the memory of the block. It returns whether the visitor wants more.
func (s blockRun) visit(name string, memory *views, by visitor) bool {
	for i := s.from; i < s.to; i++ {
		if name != "" && !isNamed(s.block.path(i), name) {
			continue
		}
		entry, o := s.block.at(i)
		packed := o == nil
		if packed {
			o = memory.next()
			*o = s.block.packed.object(entry)
		}
		kept, more := by(o)
		if !more {
			return false
		}
		if kept && packed {
			memory.keep()
		}
	}
	return true
}

// each is the visitor that keeps the objects that it yields.
func each(yield func(*Object) bool) visitor {
	return func(o *Object) (kept, more bool) { return true, yield(o) }
}

// size is the bytes of the objects in a list.
func (s blockRun) size() int {
	if s.to-s.from == s.block.len() {
		return s.block.size
	}
	size := 0
	for i := s.from; i < s.to; i++ {
		size += s.block.objectSize(i)
	}
	return size
}

var comma = []byte(",")

// pieces yields the documents, each with a comma after it, in as few byte slices as memory allows.
func (s blockRun) pieces(yield func([]byte) bool) bool {
	b := s.block
	if s.to-s.from == b.len() && b.packed != nil && b.present == b.size && len(b.packed.text) == b.size {
		return yield(b.packed.text)
	}
	start, end := 0, 0 // bounds of the slice of text that grows
	for i := s.from; i < s.to; i++ {
		entry, loose := b.at(i)
		if loose == nil {
			from, to := b.packed.document(entry)
			if from != end {
				if end > start && !yield(b.packed.text[start:end]) {
					return false
				}
				start = from
			}
			end = to + len(comma)
			continue
		}
		if end > start && !yield(b.packed.text[start:end]) {
			return false
		}
		start, end = 0, 0
		if !yield(loose.JSON) || !yield(comma) {
			return false
		}
	}
	return end == start || yield(b.packed.text[start:end])
}
