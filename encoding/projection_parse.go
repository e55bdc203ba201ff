package encoding

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxProjection bounds the text of a projection, in bytes, and maxPaths how many paths it may have.
	maxProjection = 4 << 10
	maxPaths      = 128
	// maxIndex bounds the number of an element.
	maxIndex = 1 << 20
)

// ParseProjection reads paths that are separated by commas, such as .metadata.name,.spec.containers[*].image. A path is names
// behind dots, of which the first one may be left out, as may $ before it; ["name"] or ['name'] for a name that has other
// characters in it, which can also be escaped by a backslash; [0] for an element; [*] for all elements or members.
// always are paths that are wanted besides. The error says what is wrong, and where, in words for the client.
func ParseProjection(text string, always ...string) (*Projection, error) {
	p := &Projection{}
	for _, path := range always {
		if err := p.add(path); err != nil {
			panic(err) // a mistake of the program's
		}
	}
	return p, p.add(text)
}

func (p *Projection) add(text string) error {
	switch {
	case len(text) > maxProjection:
		return fmt.Errorf("fields: they have %d bytes: %d are the limit", len(text), maxProjection)
	case !utf8.ValidString(text):
		return fmt.Errorf("fields: they are not valid UTF-8")
	}
	r := pathReader{text: text}
	for n := 1; ; n++ {
		if n > maxPaths {
			return r.refuse("there are more than %d paths", maxPaths)
		}
		if err := r.path(&p.root); err != nil {
			return err
		}
		if !r.accept(',') {
			break
		}
	}
	return nil
}

// pathReader reads paths from a text.
type pathReader struct {
	text string
	pos  int
}

func (r *pathReader) refuse(format string, args ...any) error {
	shown := strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, r.text)
	column := utf8.RuneCountInString(shown[:r.pos])
	return fmt.Errorf("fields: column %d: %s\n | %s\n | %s^", column+1, fmt.Sprintf(format, args...), shown, strings.Repeat(".", column))
}

func (r *pathReader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *pathReader) accept(c byte) bool {
	if r.pos < len(r.text) && r.text[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

func (r *pathReader) space() {
	for r.accept(' ') {
	}
}

// path reads one path, and what is wanted by it into at.
func (r *pathReader) path(at *part) (err error) {
	r.space()
	begin := r.pos
	if r.accept('$') {
		begin = -1 // that is a path already: the whole document
	}
	for {
		r.space()
		switch c := r.peek(); {
		case c == 0 || c == ',':
			if r.pos == begin {
				return r.refuse("want a path, such as .metadata.name")
			}
			at.whole = true
			return nil
		case c == '[':
			at, err = r.bracket(at)
		case r.accept('.') || r.pos == begin:
			at, err = r.dotted(at)
		default:
			err = r.refuse("want a dot, a bracket or a comma")
		}
		if err != nil {
			return err
		}
	}
}

// dotted reads a name, or the star, behind a dot.
func (r *pathReader) dotted(at *part) (*part, error) {
	if r.accept('*') {
		return at.all(), nil
	}
	begin, name := r.pos, []byte(nil)
	for r.pos < len(r.text) && !strings.ContainsRune(".,[]{}()*?@'\" ", rune(r.text[r.pos])) {
		if r.accept('\\') && r.pos == len(r.text) {
			return nil, r.refuse("want a character behind the backslash")
		}
		name = append(name, r.text[r.pos])
		r.pos++
	}
	if r.pos == begin {
		return nil, r.refuse("want a name: letters and the like, or [\"name\"] for others")
	}
	return at.named(string(name)), nil
}

// bracket reads a name in quotes, a number or the star between brackets.
func (r *pathReader) bracket(at *part) (next *part, err error) {
	r.pos++
	switch c := r.peek(); {
	case c == '\'' || c == '"':
		next, err = r.quoted(at)
	case r.accept('*'):
		next = at.all()
	default:
		next, err = r.numbered(at)
	}
	if err == nil && !r.accept(']') {
		err = r.refuse("want ] here")
	}
	return next, err
}

func (r *pathReader) quoted(at *part) (*part, error) {
	quote, name := r.text[r.pos], []byte(nil)
	for r.pos++; !r.accept(quote); r.pos++ {
		if r.accept('\\'); r.pos == len(r.text) {
			return nil, r.refuse("want %c here, the end of the name", quote)
		}
		name = append(name, r.text[r.pos])
	}
	return at.named(string(name)), nil
}

func (r *pathReader) numbered(at *part) (*part, error) {
	begin := r.pos
	for isDigit(r.peek()) {
		r.pos++
	}
	n, err := strconv.Atoi(r.text[begin:r.pos])
	if err != nil || n > maxIndex {
		r.pos = begin
		return nil, r.refuse("want the number of an element, from 0 to %d, a name in quotes, or *", maxIndex)
	}
	return at.numbered(n), nil
}

func (p *part) named(name string) *part {
	if p.members == nil {
		p.members = make(map[string]*part)
	}
	if p.members[name] == nil {
		p.members[name] = &part{}
	}
	return p.members[name]
}

func (p *part) numbered(n int) *part {
	if p.elements == nil {
		p.elements = make(map[int]*part)
	}
	if p.elements[n] == nil {
		p.elements[n] = &part{}
	}
	return p.elements[n]
}

func (p *part) all() *part {
	if p.every == nil {
		p.every = &part{}
	}
	return p.every
}
