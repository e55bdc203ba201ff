package encoding

import (
	"strconv"

	"revtail/encoding/jsontext"
)

// SetResourceVersion returns a copy of doc, a document of Normalize, with another metadata.resourceVersion. It decodes nothing and
// reads no further than necessary. The error is a *jsontext.DecodeError: doc is no such document.
func SetResourceVersion(doc []byte, resourceVersion int64) ([]byte, error) {
	start, end, found := findResourceVersion(doc)
	if !found {
		return nil, &jsontext.DecodeError{Reason: "no metadata.resourceVersion to replace"}
	}
	changed := make([]byte, 0, len(doc)+20)
	changed = append(changed, doc[:start]...)
	changed = append(changed, '"')
	changed = strconv.AppendInt(changed, resourceVersion, 10)
	changed = append(changed, '"')
	return append(changed, doc[end:]...), nil
}

// findResourceVersion returns the start and the end of metadata.resourceVersion. It compares names with constants, which is faster than
// jsontext.Seek, because watches call it for each deletion.
func findResourceVersion(doc []byte) (start, end int, found bool) {
	s := jsontext.NewScanner(doc)
	s.Object(func(name []byte) bool {
		if string(name) != "metadata" {
			return s.Skip()
		}
		s.Object(func(name []byte) bool {
			if string(name) != "resourceVersion" {
				return s.Skip()
			}
			s.Peek()
			start = s.Pos()
			found = s.Skip()
			end = s.Pos()
			return false // found: stop
		})
		return false
	})
	return start, end, found
}

// AddResourceVersion returns a copy of value, which Marshal wrote for an object with a name, with the metadata.resourceVersion that
// Normalize would add. It reads value only up to the start of the metadata.
func AddResourceVersion(value []byte, resourceVersion int64) []byte {
	s, _ := jsontext.Seek(value, "metadata")
	return insertResourceVersion(nil, value, s.Pos()+1, resourceVersion)
}

// insertResourceVersion returns a copy of value with metadata.resourceVersion at a position, before another member. The copy is in the capacity of buffer
// if that is enough.
func insertResourceVersion(buffer, value []byte, at int, resourceVersion int64) []byte {
	member := appendResourceVersion(make([]byte, 0, len(`"resourceVersion":"",`)+20), resourceVersion)
	member = append(member, ',')
	changed := buffer[:0]
	if cap(buffer) < len(value)+len(member) {
		changed = make([]byte, 0, len(value)+len(member))
	}
	changed = append(changed, value[:at]...)
	changed = append(changed, member...)
	return append(changed, value[at:]...)
}
