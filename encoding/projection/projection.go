// Package projection reduces JSON documents to the parts at given paths.
package projection

import "revtail/encoding/jsontext"

// Projection is a set of paths. It is immutable, and safe for concurrent use.
type Projection struct{ root node }

// node is the selected part of a value.
type node struct {
	whole    bool
	members  map[string]*node
	elements map[int]*node
	every    *node // of each member and element
	others   bool  // selects all of the members that have no node
}

// Project returns the selected part of doc, a JSON value. It keeps the objects and arrays on the paths, and the order; nil: it selects
// nothing of such a value.
func (p *Projection) Project(doc []byte) []byte {
	w := walk{Scanner: jsontext.NewScanner(doc), out: make([]byte, 0, min(len(doc), 512))}
	if some, ok := w.value([]*node{&p.root}); !some || !ok {
		return nil
	}
	return w.out
}

// Within returns the projection that applies p to a member, and selects all other members.
func (p *Projection) Within(member string) *Projection {
	return &Projection{node{members: map[string]*node{member: &p.root}, others: true}}
}

// walk is a scan of a document with the output so far.
type walk struct {
	jsontext.Scanner
	out []byte
}

// value steps over a value. some reports whether the nodes select a part of it.
func (w *walk) value(nodes []*node) (some, ok bool) {
	first := w.Peek()
	for _, n := range nodes {
		if n.whole {
			text, valid := w.Raw()
			w.out = append(w.out, text...)
			return true, valid
		}
	}
	switch first {
	case '{':
		return true, w.members(nodes)
	case '[':
		return true, w.elements(nodes)
	}
	_, ok = w.Scalar()
	return false, ok
}

func (w *walk) members(nodes []*node) bool {
	w.out = append(w.out, '{')
	start := len(w.out)
	ok := w.Object(func(name []byte) bool {
		selected := make([]*node, 0, 2)
		for _, n := range nodes {
			selected = n.member(name, selected)
		}
		return w.child(start, name, selected)
	})
	w.out = append(w.out, '}')
	return ok
}

func (w *walk) elements(nodes []*node) bool {
	w.out = append(w.out, '[')
	start, i := len(w.out), 0
	ok := w.Array(func() bool {
		selected := make([]*node, 0, 2)
		for _, n := range nodes {
			selected = appendNodes(selected, n.elements[i], n.every)
		}
		i++
		return w.child(start, nil, selected)
	})
	w.out = append(w.out, ']')
	return ok
}

// child steps over a member or, if name is nil, over an element. start is the position of the first child in the output.
func (w *walk) child(start int, name []byte, nodes []*node) bool {
	if len(nodes) == 0 {
		return w.Skip()
	}
	before := len(w.out)
	if before > start {
		w.out = append(w.out, ',')
	}
	if name != nil {
		w.out = append(append(append(w.out, '"'), name...), '"', ':')
	}
	some, ok := w.value(nodes)
	if !some {
		w.out = w.out[:before]
	}
	return ok
}

var whole = &node{whole: true}

// member appends the nodes of a member; name is the text between its quotes.
func (n *node) member(name []byte, selected []*node) []*node {
	named := n.members[string(name)]
	if jsontext.Escaped(name) {
		named = n.members[jsontext.Unquote(name)]
	}
	if named == nil && n.others {
		named = whole
	}
	return appendNodes(selected, named, n.every)
}

func appendNodes(dst []*node, nodes ...*node) []*node {
	for _, n := range nodes {
		if n != nil {
			dst = append(dst, n)
		}
	}
	return dst
}
