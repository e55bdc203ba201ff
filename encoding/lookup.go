package encoding

// Lookup returns the scalar at a path of member names in doc, a document made by Normalize: a string, a number as it is
// written, true or false. Null, objects, arrays and what is inside arrays are not found. The rest of doc is not decoded.
func Lookup(doc []byte, path []string) (value string, found bool) {
	l := lookup{scanner: scanner{doc: doc}, path: path}
	if len(path) == 0 || !l.object(l.member) || !l.end() || len(l.text) == 0 {
		return "", false
	}
	switch {
	case l.text[0] == '"':
		return unquote(l.text[1 : len(l.text)-1]), true
	case string(l.text) == "null":
		return "", false
	default:
		return string(l.text), true
	}
}

// lookup is a scan for a path. It goes on to the end of each object on the way, since the last of duplicate members counts.
type lookup struct {
	scanner
	path []string
	at   int    // how many names of path lead to the object being scanned
	text []byte // the scalar found
}

func (l *lookup) member(name []byte) bool {
	if !is(name, l.path[l.at]) {
		return l.skip()
	}
	l.text = nil // what an earlier duplicate led to
	first, last := l.peek(), l.at == len(l.path)-1
	switch {
	case first == '{' && !last:
		l.at++
		ok := l.object(l.member)
		l.at--
		return ok
	case first == '{' || first == '[' || !last:
		return l.skip()
	default:
		text, ok := l.scalar()
		l.text = text
		return ok
	}
}
