package keys

import (
	"strings"

	"revtail/gateway/keys/keyrange"
)

// nextLevel returns the prefix directly below a range that holds a key; empty: the key itself is directly below.
func nextLevel(keys keyrange.Range, key string) string {
	rest := strings.TrimPrefix(key, keys.String())
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return keys.String() + rest[:i+1]
	}
	return ""
}

// afterLevel returns the key after which the next page begins: after the keys that begin with level. The exceptions are keys with more of
// these bytes, which no UTF-8 text has.
func afterLevel(last, level string) string {
	if level == "" {
		return last
	}
	return max(last, level+"\xff\xff\xff\xff")
}
