package main

import (
	"fmt"
	"slices"
)

// sequence summarizes the events of one watcher in a few words of memory, so that the end of a run can check whether it got every event
// exactly once and in order.
type sequence struct {
	count int64
	last  int64
	chain uint64 // of the revisions in their order
	sum   uint64 // of the revisions in any order
	wrong string // the first error; empty: none
}

// add adds an event.
func (s *sequence) add(revision int64) {
	if revision <= s.last && s.wrong == "" {
		s.wrong = fmt.Sprintf("revision %d came after %d", revision, s.last)
	}
	s.addAnywhere(revision)
	s.last = revision
}

// addAnywhere adds an object of a state, which is ordered by name.
func (s *sequence) addAnywhere(revision int64) {
	s.count++
	s.chain = mix(s.chain ^ uint64(revision))
	s.sum += mix(uint64(revision))
}

// fail records another error.
func (s *sequence) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf(format, args...)
	}
}

// sequenceOf returns the sequence of a watcher that got these revisions, in order.
func sequenceOf(revisions []int64) sequence {
	var s sequence
	for _, revision := range slices.Sorted(slices.Values(revisions)) {
		s.add(revision)
	}
	return s
}

// check compares the sequence since the last reset with the expected one.
func (s *sequence) check(want sequence) error {
	switch {
	case s.wrong != "":
		return fmt.Errorf("%s", s.wrong)
	case s.count != want.count:
		return fmt.Errorf("%d events, want %d", s.count, want.count)
	case s.chain != want.chain:
		return fmt.Errorf("%d events as expected, but not these, or not in order", s.count)
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
		return fmt.Errorf("%d objects as expected, but not these", s.count)
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
