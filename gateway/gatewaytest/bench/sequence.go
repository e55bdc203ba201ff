package main

import (
	"fmt"
	"slices"
)

// sequence is what one watcher has seen: enough to tell, at the end, whether it was every event exactly once and in order,
// in the memory of a few words.
type sequence struct {
	count int64
	last  int64
	chain uint64 // of the revisions in their order
	sum   uint64 // of the revisions in any order
	wrong string // the first thing that cannot be right; empty: nothing
}

// add notes an event.
func (s *sequence) add(revision int64) {
	if revision <= s.last && s.wrong == "" {
		s.wrong = fmt.Sprintf("revision %d came after %d", revision, s.last)
	}
	s.addAnywhere(revision)
	s.last = revision
}

// addAnywhere notes an object of a state, which comes in the order of names.
func (s *sequence) addAnywhere(revision int64) {
	s.count++
	s.chain = mix(s.chain ^ uint64(revision))
	s.sum += mix(uint64(revision))
}

// fail notes something else that is wrong.
func (s *sequence) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf(format, args...)
	}
}

// sequenceOf is what a watcher must have seen that has seen these revisions, in order.
func sequenceOf(revisions []int64) sequence {
	var s sequence
	for _, revision := range slices.Sorted(slices.Values(revisions)) {
		s.add(revision)
	}
	return s
}

// check compares what was seen since the watcher was reset with what must have been seen.
func (s *sequence) check(want sequence) error {
	switch {
	case s.wrong != "":
		return fmt.Errorf("%s", s.wrong)
	case s.count != want.count:
		return fmt.Errorf("%d events, want %d", s.count, want.count)
	case s.chain != want.chain:
		return fmt.Errorf("%d events as wanted, but not these, or not in order", s.count)
	}
	return nil
}

// checkState compares without the order.
func (s *sequence) checkState(want sequence) error {
	switch {
	case s.wrong != "":
		return fmt.Errorf("%s", s.wrong)
	case s.count != want.count:
		return fmt.Errorf("%d objects, want %d", s.count, want.count)
	case s.sum != want.sum:
		return fmt.Errorf("%d objects as wanted, but not these", s.count)
	}
	return nil
}

// mix is the finalizer of splitmix64: every bit of x changes half of the bits of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
