package watch

import (
	"iter"
	"maps"
)

// ShrinkAt is the size from which on a set or a list of watches gives memory back, when it has fewer than one in ShrinkShare of its most
// entries. Below, the memory is not worth a copy.
const (
	ShrinkAt    = 1024
	ShrinkShare = 16
)

// openSet is a set whose memory shrinks with it; a map keeps the memory of the most entries that it has had. The zero value is an empty set.
// Its user guards it.
type openSet[K comparable] struct {
	entries map[K]struct{}
	most    int // entries since entries was made
}

func (s *openSet[K]) add(k K) {
	if s.entries == nil {
		s.entries = make(map[K]struct{})
	}
	s.entries[k] = struct{}{}
	s.most = max(s.most, len(s.entries))
}

func (s *openSet[K]) remove(k K) {
	delete(s.entries, k)
	if s.most >= ShrinkAt && len(s.entries) < s.most/ShrinkShare {
		s.entries, s.most = Shrunk(s.entries), len(s.entries)
	}
}

func (s *openSet[K]) contains(k K) bool {
	_, ok := s.entries[k]
	return ok
}

func (s *openSet[K]) len() int { return len(s.entries) }

func (s *openSet[K]) all() iter.Seq[K] { return maps.Keys(s.entries) }

// Shrunk returns a copy of a map that has no more memory than its entries need, as maps.Clone does not.
func Shrunk[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	maps.Copy(out, m)
	return out
}
