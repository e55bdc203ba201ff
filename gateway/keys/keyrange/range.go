package keyrange

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Range is one key or, if its text ends with a slash, all keys that begin with the text. Only the functions of this package make one,
// so its text is never empty.
type Range struct{ text string }

// maxKey limits a key, in bytes.
const maxKey = 1 << 10

// Parse returns the ranges that a URL names. path is the decoded path after /v1/keys, in which no segment holds a slash. Keys that a
// path cannot contain are in the query, as key= or, in base64, key64=. Without any of them it is the range /.
func Parse(path string, query url.Values) (Ranges, error) {
	n := len(query["key"]) + len(query["key64"])
	switch {
	case n == 0 && path == "":
		return Ranges{{"/"}}, nil
	case n == 0:
		key, err := ParseKey(path)
		return Ranges{key}, err
	case path != "" && path != "/":
		return nil, fmt.Errorf("the path says %q and the query another key: use one of them, as /v1/keys?key=…", path)
	case n > maxRanges:
		return nil, fmt.Errorf("the query has %d keys: %d are the limit", n, maxRanges)
	}
	var keys []Range
	for _, parameter := range []struct {
		name  string
		parse func(string) (Range, error)
	}{{"key", ParseKey}, {"key64", ParseKey64}} {
		for _, text := range query[parameter.name] {
			key, err := parameter.parse(text)
			if err != nil {
				return nil, fmt.Errorf("%s=%.64q: %w", parameter.name, text, err)
			}
			keys = append(keys, key)
		}
	}
	return newRanges(keys), nil
}

// ParseKey returns the range of a text.
func ParseKey(text string) (Range, error) {
	switch {
	case text == "":
		return Range{}, fmt.Errorf("the key is empty: that would be everything")
	case len(text) > maxKey:
		return Range{}, fmt.Errorf("the key has %d bytes: %d are the limit", len(text), maxKey)
	}
	return Range{text}, nil
}

// ParseKey64 returns the range of a text in base64, in either alphabet, with or without padding.
func ParseKey64(text string) (Range, error) {
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.DecodeString(standard)
	if err != nil {
		corrupt, _ := errors.AsType[base64.CorruptInputError](err) // DecodeString has no other
		if at := int(corrupt); at < len(standard) {
			return Range{}, fmt.Errorf("this is not base64: %q is at character %d", firstOf(standard[at:]), at+1)
		}
		return Range{}, errors.New("this is not base64: it ends too early")
	}
	return ParseKey(string(key))
}

// String returns the key or the prefix.
func (r Range) String() string { return r.text }

// IsPrefix reports whether the range is a prefix. One key never ends with a slash. Therefore, of two ranges that have a key in common,
// one holds the other.
func (r Range) IsPrefix() bool { return strings.HasSuffix(r.text, "/") }

// Contains reports whether a key is in the range.
func (r Range) Contains(key string) bool {
	return key == r.text || r.IsPrefix() && strings.HasPrefix(key, r.text)
}

// Within reports whether another range holds all keys of this one.
func (r Range) Within(other Range) bool { return other.Contains(r.text) }

// Overlaps reports whether two ranges have a key in common.
func (r Range) Overlaps(other Range) bool { return r.Within(other) || other.Within(r) }

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
	quoted := fmt.Sprintf("%q", rs.Texts())
	return quoted[1 : len(quoted)-1] // without the brackets of the slice
}

// Texts returns the keys and prefixes.
func (rs Ranges) Texts() []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.text)
	}
	return out
}
