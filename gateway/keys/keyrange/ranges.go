package keyrange

import (
	"slices"
	"strconv"
	"strings"
)

// maxRanges is how many keys and prefixes a watch can be about.
const maxRanges = 32

// Ranges are several ranges in the order of their keys: none has a key in common with another, and all keys of one come before
// those of the next. There is at least one.
type Ranges []Range

// newRanges brings ranges in order, and leaves out what others hold.
func newRanges(given []Range) Ranges {
	slices.SortFunc(given, func(a, b Range) int { return strings.Compare(a.text, b.text) })
	var out Ranges
	for _, r := range given {
		if len(out) == 0 || !r.Within(out[len(out)-1]) {
			out = append(out, r)
		}
	}
	return out
}

// String is what they are, quoted: no others have the same.
func (rs Ranges) String() string {
	var out []byte
	for i, r := range rs {
		if i > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendQuote(out, r.text)
	}
	return string(out)
}

// Texts are the texts of the ranges.
func (rs Ranges) Texts() []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.text)
	}
	return out
}
