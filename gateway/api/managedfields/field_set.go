package managedfields

import "maps"

// fieldSet is a set of fields of an object: a tree of path elements, encoded as in managedFields (f:name, k:{"name":"a"}, v:1). The managed
// fields of an entry stay maps, in which a managed field is empty or has a member ".".
type fieldSet struct {
	member bool // the field itself is in the set
	below  map[string]*fieldSet
}

func (s *fieldSet) empty() bool { return len(s.below) == 0 && !s.member }

// fieldStep is a path element in two parts, which are joined only for changed fields.
type fieldStep struct{ kind, name string }

// insert adds the field at a path.
func (s *fieldSet) insert(path []fieldStep) {
	for _, step := range path {
		element := step.kind + step.name
		next := s.below[element]
		if next == nil {
			if s.below == nil {
				s.below = map[string]*fieldSet{}
			}
			next = &fieldSet{}
			s.below[element] = next
		}
		s = next
	}
	s.member = true
}

// managed returns the set, which must not be empty, as in managedFields.
func (s *fieldSet) managed() map[string]any {
	out := make(map[string]any, len(s.below)+1)
	for element, below := range s.below {
		out[element] = below.managed()
	}
	if s.member && len(out) > 0 {
		out[self] = map[string]any{}
	}
	return out
}

// self is the member that says that a field with managed fields below it is itself managed.
const self = "."

// manages reports whether a field itself is managed.
func manages(managed map[string]any) bool {
	_, ok := managed[self]
	return ok || len(managed) == 0
}

// below returns the managed fields below a path element; nil: there are none.
func below(managed map[string]any, element string) map[string]any {
	child, _ := managed[element].(map[string]any)
	return child
}

// covers reports whether all of a set is managed.
func covers(managed map[string]any, s *fieldSet) bool {
	if managed == nil || s.member && !manages(managed) {
		return false
	}
	for element, child := range s.below {
		if !covers(below(managed, element), child) {
			return false
		}
	}
	return true
}

// overlaps reports whether some of a set is managed.
func overlaps(managed map[string]any, s *fieldSet) bool {
	if managed == nil {
		return false
	}
	if s.member && manages(managed) {
		return true
	}
	for element, child := range s.below {
		if overlaps(below(managed, element), child) {
			return true
		}
	}
	return false
}

// union returns the managed fields with those of a set.
func union(managed map[string]any, s *fieldSet) map[string]any {
	if managed == nil {
		return s.managed()
	}
	out := maps.Clone(managed)
	for element, child := range s.below {
		out[element] = union(below(managed, element), child)
	}
	if (s.member || manages(managed)) && len(out) > 0 {
		out[self] = map[string]any{}
	}
	return out
}

// difference returns the managed fields without those of a set; nil: none is left.
func difference(managed map[string]any, s *fieldSet) map[string]any {
	out := maps.Clone(managed)
	for element, child := range s.below {
		of := below(managed, element)
		if of == nil {
			continue
		}
		if left := difference(of, child); left != nil {
			out[element] = left
		} else {
			delete(out, element)
		}
	}
	kept := manages(managed) && !s.member
	delete(out, self)
	switch {
	case len(out) == 0 && !kept:
		return nil
	case len(out) > 0 && kept:
		out[self] = map[string]any{}
	}
	return out
}
