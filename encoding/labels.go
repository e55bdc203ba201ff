package encoding

import "revtail/encoding/jsontext"

// Labels is the text of metadata.labels in a document of Normalize: an object whose values are strings, or nothing. Its methods scan
// the text, because a map would need as much memory as a small document.
type Labels []byte

// Has reports whether a label exists.
func (l Labels) Has(name string) bool {
	_, found := l.Lookup(name)
	return found
}

// Get returns the value of a label, or an empty string if it does not exist.
func (l Labels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// Lookup returns the value of a label, and whether the label exists. The value shares the memory of the document.
func (l Labels) Lookup(name string) (value string, found bool) {
	var raw []byte
	s := jsontext.NewScanner(l)
	for more := s.Accept('{'); more && s.Peek() == '"'; more = s.Accept(',') {
		label, _ := s.Quoted()
		s.Accept(':')
		s.Peek()
		text, ok := s.Quoted()
		if ok && jsontext.Equal(label, name) { // the last duplicate counts
			raw, found = text, true
		}
	}
	return jsontext.UnquoteShared(raw), found // a document never changes
}

// findLabels returns the start and the end of metadata.labels in a document without duplicate members; 0, 0: there are no labels.
func findLabels(doc []byte) (start, end uint32) {
	s, found := jsontext.Seek(doc, "metadata", "labels")
	if !found || s.Peek() != '{' {
		return 0, 0
	}
	start = uint32(s.Pos())
	s.Skip()
	return start, uint32(s.Pos())
}
