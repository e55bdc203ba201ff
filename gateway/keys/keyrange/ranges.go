package keyrange

import (
	"slices"
	"strconv"
	"strings"
)

// maxRanges is how many keys and prefixes a watch can name.
const maxRanges = 32

// Ranges are one or more ranges without a common key, in the order of their keys.
type Ranges []Range

// newRanges sorts ranges, and leaves out those that are within others.
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

// String returns the quoted texts. It is different for different ranges.
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

// Texts returns the keys and prefixes.
func (rs Ranges) Texts() []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.text)
	}
	return out
}
