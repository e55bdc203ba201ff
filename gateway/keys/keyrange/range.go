package keyrange

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Range is the keys that a request is about: one key or, where it ends with a slash, all that begin with it. Parse and
// ParseKey are the only ways from outside to one, so it is never empty.
type Range struct{ text string }

// maxKey bounds a key, in bytes.
const maxKey = 1 << 10

// Parse reads the keys of a URL: path is what follows /v1/keys, decoded, where no segment can hold a slash; or it is empty,
// and the query says key= (as it is) or key64= (in base64) for keys that a path cannot say. Nothing at all is /.
func Parse(path string, query url.Values) (Range, error) {
	if n := len(query["key"]) + len(query["key64"]); n > 1 {
		return Range{}, fmt.Errorf("one key is needed, and the query has %d: only a watch takes several", n)
	}
	keys, err := ParseAll(path, query)
	if err != nil {
		return Range{}, err
	}
	return keys[0], nil
}

// ParseAll is Parse for what can be about several keys and prefixes.
func ParseAll(path string, query url.Values) (Ranges, error) {
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

// ParseKey makes a Range of its text.
func ParseKey(text string) (Range, error) {
	switch {
	case text == "":
		return Range{}, fmt.Errorf("the key is empty: that would be everything")
	case len(text) > maxKey:
		return Range{}, fmt.Errorf("the key has %d bytes: %d are the limit", len(text), maxKey)
	}
	return Range{text}, nil
}

// ParseKey64 makes a Range of its text in base64, in either alphabet, with or without padding.
func ParseKey64(text string) (Range, error) {
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		var corrupt base64.CorruptInputError
		_ = errors.As(err, &corrupt) // DecodeString has no other
		if at := int(corrupt); at < len(plain) {
			return Range{}, fmt.Errorf("this is not base64: %q is at character %d", firstOf(plain[at:]), at+1)
		}
		return Range{}, errors.New("this is not base64: it ends too early")
	}
	return ParseKey(string(key))
}

// String is the key, or what the keys begin with.
func (r Range) String() string { return r.text }

// IsPrefix tells whether it is all keys that begin with its text. A range of one key does not end with a slash: so no two
// ranges share a part of what is in them, one holds the other or nothing of it.
func (r Range) IsPrefix() bool { return strings.HasSuffix(r.text, "/") }

// Contains tells whether a key is one of the range.
func (r Range) Contains(key string) bool {
	return key == r.text || r.IsPrefix() && strings.HasPrefix(key, r.text)
}

// Within tells whether every key of the range is one of another.
func (r Range) Within(other Range) bool { return other.Contains(r.text) }

// Meets tells whether the two have a key in common.
func (r Range) Meets(other Range) bool { return r.Within(other) || other.Within(r) }
