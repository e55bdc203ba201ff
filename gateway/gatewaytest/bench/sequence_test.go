package main

import (
	"strings"
	"testing"
)

func seen(revisions ...int64) *sequence {
	s := new(sequence)
	for _, revision := range revisions {
		s.add(revision)
	}
	return s
}

// TestSequence checks which sequences are accepted when revisions 5, 6 and 9 were acknowledged, in any order.
func TestSequence(t *testing.T) {
	want := sequenceOf([]int64{9, 5, 6})
	for _, test := range []struct {
		name  string
		seen  []int64
		wrong string // part of the error; empty: none
	}{
		{"all", []int64{5, 6, 9}, ""},
		{"none", nil, "0 events, want 3"},
		{"last one lost", []int64{5, 6}, "2 events, want 3"},
		{"first one lost", []int64{6, 9}, "2 events, want 3"},
		{"another one instead", []int64{5, 7, 9}, "not these"},
		{"out of order", []int64{6, 5, 9}, "5 came after 6"},
		{"twice", []int64{5, 6, 6, 9}, "6 came after 6"},
		{"one too many", []int64{5, 6, 9, 10}, "4 events, want 3"},
	} {
		err := seen(test.seen...).check(want)
		switch {
		case test.wrong == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%s: %v, want %q", test.name, err, test.wrong)
		}
	}
}

// TestSequenceOfState checks that a state may have any order, but no duplicates.
func TestSequenceOfState(t *testing.T) {
	want := sequenceOf([]int64{5, 6, 9})
	for _, test := range []struct {
		seen []int64
		ok   bool
	}{
		{[]int64{9, 5, 6}, true}, {[]int64{9, 5}, false}, {[]int64{9, 5, 5}, false}, {[]int64{9, 5, 7}, false}, {[]int64{9, 5, 6, 6}, false},
	} {
		var s sequence
		for _, revision := range test.seen {
			s.addAnywhere(revision)
		}
		if err := s.checkState(want); (err == nil) != test.ok {
			t.Errorf("%v: %v", test.seen, err)
		}
	}
}
