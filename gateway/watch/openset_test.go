package watch

import (
	"slices"
	"testing"
)

// TestOpenSet checks that a set whose entries leave keeps the rest, and gives its memory back.
func TestOpenSet(t *testing.T) {
	const most = 4 * ShrinkAt
	var s openSet[int]
	for i := range most {
		s.add(i)
	}
	large := s.entries
	for i := range most - 10 {
		s.remove(i)
	}
	if got := slices.Sorted(s.all()); !slices.Equal(got, []int{most - 10, most - 9, most - 8, most - 7, most - 6, most - 5, most - 4, most - 3, most - 2, most - 1}) {
		t.Errorf("the rest is %v", got)
	}
	clear(large)
	if s.len() != 10 || !s.contains(most-1) || s.contains(0) {
		t.Errorf("after the memory of %d entries was given back, the set has %d", most, s.len())
	}
	if s.most >= ShrinkAt {
		t.Errorf("the set has memory for %d entries, and %d of them", s.most, s.len())
	}
}
