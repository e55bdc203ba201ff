package encoding

import "strconv"

// SetResourceVersion returns a copy of doc, a document made by Normalize, with another metadata.resourceVersion. It decodes
// nothing and reads no further than it must. The error is a *DecodeError: doc is not such a document.
func SetResourceVersion(doc []byte, resourceVersion int64) ([]byte, error) {
	start, end, ok := findResourceVersion(doc)
	if !ok {
		return nil, &DecodeError{Reason: "no metadata.resourceVersion to replace"}
	}
	changed := make([]byte, 0, len(doc)+20)
	changed = append(changed, doc[:start]...)
	changed = append(changed, '"')
	changed = strconv.AppendInt(changed, resourceVersion, 10)
	changed = append(changed, '"')
	return append(changed, doc[end:]...), nil
}

// AddResourceVersion returns a copy of value, which Marshal wrote of an object with a name, with the metadata.resourceVersion that
// Normalize would give it. Nothing behind the beginning of its metadata is read.
func AddResourceVersion(value []byte, resourceVersion int64) []byte {
	s, at := scanner{doc: value}, 0
	s.object(func(name []byte) bool {
		if string(name) != "metadata" {
			return s.skip()
		}
		s.accept('{')
		at = s.pos
		return false // it is found: stop
	})
	changed := make([]byte, 0, len(value)+len(`"resourceVersion":"",`)+20)
	changed = appendResourceVersion(append(changed, value[:at]...), resourceVersion)
	return append(append(changed, ','), value[at:]...)
}

// findResourceVersion returns where the value of metadata.resourceVersion begins and ends.
// Normalize sees to it that there is one, and no second.
func findResourceVersion(doc []byte) (start, end int, found bool) {
	s := scanner{doc: doc}
	s.object(func(name []byte) bool {
		if string(name) != "metadata" {
			return s.skip()
		}
		s.object(func(name []byte) bool {
			if string(name) != "resourceVersion" {
				return s.skip()
			}
			s.peek()
			start = s.pos
			found = s.skip()
			end = s.pos
			return false // it is found: stop
		})
		return false
	})
	return start, end, found
}
