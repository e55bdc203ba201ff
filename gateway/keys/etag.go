package keys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// etag returns a tag that changes whenever the answer changes; empty: the answer has none. The tag of a key is its revision, which
// If-Match takes. The tag of a prefix is the newest revision of its keys and their number: while the newest revision stays, keys can
// only be deleted, and then the number is less.
func (k *keysReader) etag() string {
	switch q := k.query; {
	case !q.Keys.IsPrefix() && k.count == 1:
		return `"` + strconv.FormatInt(int64(k.modified), 10) + `"`
	case k.more > 0 || q.After != "" || q.Count || q.Level:
		return ""
	}
	return fmt.Sprintf(`"%d.%d"`, k.modified, k.count)
}

// matchesETag reports whether If-None-Match names a tag.
func matchesETag(header []string, tag string) bool {
	for _, line := range header {
		tags := strings.Split(line, ",")
		if slices.ContainsFunc(tags, func(given string) bool {
			given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
			return given == "*" || given == tag
		}) {
			return true
		}
	}
	return false
}
