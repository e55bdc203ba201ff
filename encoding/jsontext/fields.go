package jsontext

// Field names a member of an object, and members of that.
type Field struct {
	Name   string
	Fields []Field // nil: the member may be of any type
}

// Fields returns fields of any types.
func Fields(names ...string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	return fields
}

// HasFields reports whether doc is compact JSON, and an object with each of the fields. A field that is null, an empty string or there twice does not
// count. It decodes nothing.
func HasFields(doc []byte, fields []Field) bool {
	s := NewScanner(doc)
	return s.fields(fields) && s.Pos() == len(doc) && !s.Loose()
}

// fields steps over an object with fields, of which there are at most 64.
func (s *Scanner) fields(fields []Field) bool {
	var seen uint64
	ok := s.Peek() == '{' && s.Object(func(name []byte) bool {
		for i, f := range fields {
			if Equal(name, f.Name) {
				first := seen&(1<<i) == 0
				seen |= 1 << i
				return first && s.field(f)
			}
		}
		return s.Skip()
	})
	return ok && seen == 1<<len(fields)-1
}

func (s *Scanner) field(f Field) bool {
	if f.Fields != nil {
		return s.fields(f.Fields)
	}
	text, ok := s.Raw()
	return ok && string(text) != "null" && string(text) != `""`
}
