package watchcache

// extent is a part of a state that is known by its place, whatever is in the objects.
type rangeView struct {
	state     *objects
	namespace string // empty: all
	after     string // only paths that are greater
	limit     int    // at most so many objects; zero: all
}

// stretches yields the objects of the extent.
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
	e.runs(func(s blockRun) bool {
		for _, o := range s.objects() {
			if !yield(o) {
				return false
			}
		}
		return true
	})
}

// text yields the documents, each with a comma behind it, in as few pieces as they stand in memory.
func (e rangeView) text(yield func([]byte) bool) {
	e.runs(func(s blockRun) bool { return s.pieces(yield) })
}

// measure looks at blocks, not at objects: size is how many bytes the objects take of a list, more how many would follow
// without the limit, and last is the path of the last one before these, if there are any.
func (e rangeView) measure() (size, more int, last string) {
	if e.limit <= 0 && e.namespace == "" && e.after == "" {
		return e.state.size, 0, ""
	}
	var end blockRun
	e.runs(func(s blockRun) bool {
		size, end = size+s.size(), s
		return true
	})
	if e.limit > 0 && end.block != nil {
		last = end.block.objects[end.to-1].path
		e.state.runs(e.namespace, last, func(s blockRun) bool {
			more += s.to - s.from
			return true
		})
	}
	if more == 0 {
		last = ""
	}
	return size, more, last
}
