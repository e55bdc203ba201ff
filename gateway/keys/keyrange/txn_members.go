package keyrange

import (
	"fmt"
	"slices"

	"revtail/encoding/jsontext"
	"revtail/gateway/config/suggest"
)

// members are the members of a transaction, at all levels.
var members = []string{"compare", "then", "else", "key", "key64", "is", "modRevision", "createRevision", "version", "exists", "value", "encoding",
	"get", "put", "delete", "ttl", "prefix"}

// checkMembers refuses repeated members, and members in another spelling, because encoding/json takes the last one and ignores the case. An
// intermediary that reads the first one, or the exact one, would see another transaction. It ignores syntax errors.
func checkMembers(body []byte) error {
	c := memberCheck{Scanner: jsontext.NewScanner(body)}
	c.value()
	return c.err
}

// memberCheck is a scan of a body.
type memberCheck struct {
	jsontext.Scanner
	err error
}

// value steps over one value.
func (c *memberCheck) value() bool {
	switch c.Peek() {
	case '[':
		return c.Array(c.value)
	case '{':
		var seen []string
		return c.Object(func(quoted []byte) bool {
			name := jsontext.Unquote(quoted)
			if slices.Contains(seen, name) {
				c.err = fmt.Errorf("repeated field %.64q, at byte %d", name, c.Pos())
				return false
			}
			if !slices.Contains(members, name) {
				short := name[:min(len(name), 64)] // because the search for a similar name takes longer for a long one
				c.err = fmt.Errorf("unknown field %.64q%s, at byte %d", name, suggest.DidYouMean(short, members), c.Pos())
				return false
			}
			seen = append(seen, name) // at most all members
			if name == "value" {
				return c.Skip() // any JSON
			}
			return c.value()
		})
	}
	return c.Skip()
}
