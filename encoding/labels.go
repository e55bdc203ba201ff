package encoding

// Labels is the text of metadata.labels in a document made by Normalize: an object whose values are strings, or nothing. They
// are read where they stand: a map of them would take as much memory as a small document.
type Labels []byte

// Has tells whether there is a label.
func (l Labels) Has(name string) bool {
	_, found := l.Lookup(name)
	return found
}

// Get returns the value of a label; empty: there is none.
func (l Labels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// Lookup returns the value of a label, and whether there is one. The value shares the memory of the document.
func (l Labels) Lookup(name string) (value string, found bool) {
	var raw []byte
	s := scanner{doc: l}
	for more := s.accept('{'); more && s.peek() == '"'; more = s.accept(',') {
		label, _ := s.str()
		s.accept(':')
		s.peek()
		text, ok := s.str()
		if ok && is(label, name) { // the last of duplicates counts
			raw, found = text, true
		}
	}
	return shared(raw), found // a document never changes
}

// findLabels returns where the value of metadata.labels begins and ends in a document whose members are all there once; twice
// the same where there are no labels.
func findLabels(doc []byte) (start, end uint32) {
	s := scanner{doc: doc}
	s.object(func(name []byte) bool {
		if !is(name, "metadata") {
			return s.skip()
		}
		return s.object(func(name []byte) bool {
			if !is(name, "labels") || s.peek() != '{' {
				return s.skip()
			}
			start = uint32(s.pos)
			ok := s.skip()
			end = uint32(s.pos)
			return ok
		})
	})
	return start, end
}
