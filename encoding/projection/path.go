package projection

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxText  = 4 << 10 // bytes of the text of a projection
	maxPaths = 128     // paths in it
	maxIndex = 1 << 20 // of an element
)

// Parse reads paths that are separated by commas, such as .metadata.name,.spec.containers[*].image. A path consists of names after
// dots; the first dot and a $ before it are optional. ["name"] and ['name'] are names with any characters, and a backslash escapes one
// character. [0] is an element, [*] and * are all elements or members. always are additional paths. The error is for the client: it
// has the position and the expected text.
func Parse(text string, always ...string) (*Projection, error) {
	p := &Projection{}
	for _, path := range always {
		if err := p.add(path); err != nil {
			panic(err) // the paths in always are constants
		}
	}
	return p, p.add(text)
}

func (p *Projection) add(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("fields: they have %d bytes: %d are the limit", len(text), maxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("fields: they are not valid UTF-8")
	}
	paths := parser{text: text}
	for range maxPaths {
		if err := paths.path(&p.root); err != nil || !paths.accept(',') {
			return err
		}
	}
	return paths.errorf("there are more than %d paths", maxPaths)
}

// parser reads paths from a text.
type parser struct {
	text string
	pos  int
}

// errorf returns an error that shows the position in the text.
func (p *parser) errorf(format string, args ...any) error {
	shown := strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, p.text)
	column := utf8.RuneCountInString(shown[:p.pos])
	return fmt.Errorf("fields: column %d: %s\n | %s\n | %s^", column+1, fmt.Sprintf(format, args...), shown, strings.Repeat(".", column))
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) accept(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) space() {
	for p.accept(' ') {
	}
}

// path reads one path and adds its nodes below at.
func (p *parser) path(at *node) (err error) {
	p.space()
	start := p.pos
	if p.accept('$') {
		start = -1 // $ alone is a path: the whole document
	}
	for {
		p.space()
		switch c := p.peek(); {
		case c == 0 || c == ',':
			if p.pos == start {
				return p.errorf("want a path, such as .metadata.name")
			}
			at.whole = true
			return nil
		case c == '[':
			at, err = p.bracket(at)
		case p.accept('.') || p.pos == start:
			at, err = p.dotted(at)
		default:
			err = p.errorf("want a dot, a bracket or a comma")
		}
		if err != nil {
			return err
		}
	}
}

// dotted reads a name or * after a dot.
func (p *parser) dotted(at *node) (*node, error) {
	if p.accept('*') {
		return at.all(), nil
	}
	start, name := p.pos, []byte(nil)
	for p.pos < len(p.text) && !strings.ContainsRune(".,[]{}()*?@'\" ", rune(p.text[p.pos])) {
		if p.accept('\\') && p.pos == len(p.text) {
			return nil, p.errorf("want a character behind the backslash")
		}
		name = append(name, p.text[p.pos])
		p.pos++
	}
	if p.pos == start {
		return nil, p.errorf("want a name: letters and the like, or [\"name\"] for others")
	}
	return child(&at.members, string(name)), nil
}

// bracket reads a name in quotes, a number or * between brackets.
func (p *parser) bracket(at *node) (next *node, err error) {
	p.pos++
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		next, err = p.quoted(at)
	case p.accept('*'):
		next = at.all()
	default:
		next, err = p.numbered(at)
	}
	if err == nil && !p.accept(']') {
		err = p.errorf("want ] here")
	}
	return next, err
}

func (p *parser) quoted(at *node) (*node, error) {
	quote, name := p.text[p.pos], []byte(nil)
	for p.pos++; !p.accept(quote); p.pos++ {
		if p.accept('\\'); p.pos == len(p.text) {
			return nil, p.errorf("want %c here, the end of the name", quote)
		}
		name = append(name, p.text[p.pos])
	}
	return child(&at.members, string(name)), nil
}

func (p *parser) numbered(at *node) (*node, error) {
	start := p.pos
	for '0' <= p.peek() && p.peek() <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil || n > maxIndex {
		p.pos = start
		return nil, p.errorf("want the number of an element, from 0 to %d, a name in quotes, or *", maxIndex)
	}
	return child(&at.elements, n), nil
}

func (n *node) all() *node {
	if n.every == nil {
		n.every = &node{}
	}
	return n.every
}

// child returns the node of a key, which it makes if necessary.
func child[K comparable](children *map[K]*node, key K) *node {
	if *children == nil {
		*children = make(map[K]*node)
	}
	if (*children)[key] == nil {
		(*children)[key] = &node{}
	}
	return (*children)[key]
}
