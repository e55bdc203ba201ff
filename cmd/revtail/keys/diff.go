package keys

import (
	"bytes"
	"encoding/json"

	"revtail/cmd/revtail/diff"
	"revtail/cmd/revtail/keys/keyapi"
)

// diffValues compares two values: JSON objects member by member, everything else as a value.
func diffValues(before, after []byte, exists bool) ([]diff.Line, error) {
	none := func(string) bool { return false }
	if (!exists || isObject(before)) && isObject(after) {
		if !exists {
			before = nil
		}
		return diff.Documents(before, after, none)
	}
	old := []byte(nil)
	if exists {
		old = document(before)
	}
	return diff.Documents(old, document(after), none)
}

func isObject(content []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("{")) && json.Valid(content)
}

// document has a value as its only member.
func document(content []byte) []byte {
	v := keyapi.NewValue(content)
	if json.Valid(content) {
		v.Value = content
	}
	out, _ := json.Marshal(map[string]json.RawMessage{"value": v.Value}) // v is valid JSON
	return out
}
