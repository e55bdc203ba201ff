package encoding

// Projection is the parts of JSON documents that somebody wants to see. It does not change, and is safe for concurrent use.
type Projection struct{ root part }

// part says what of a value is wanted.
type part struct {
	whole    bool
	members  map[string]*part
	elements map[int]*part
	every    *part // of each member or element
	others   bool  // members that are not named are wanted whole
}

// Project returns what is wanted of doc, the text of a JSON value. Objects and arrays on the way to it stay, with what is wanted
// of them and in its order; nil: nothing is wanted of such a value.
func (p *Projection) Project(doc []byte) []byte {
	walk := projecting{scanner: scanner{doc: doc}, out: make([]byte, 0, min(len(doc), 512))}
	if some, ok := walk.value([]*part{&p.root}); !some || !ok {
		return nil
	}
	return walk.out
}

// Within is the projection of documents of which a member is what p is about, and all else is wanted whole.
func (p *Projection) Within(member string) *Projection {
	return &Projection{part{members: map[string]*part{member: &p.root}, others: true}}
}

// projecting is a walk through a document, and what was wanted of it.
type projecting struct {
	scanner
	out []byte
}

// value steps over a value of which the parts are wanted; some: anything of it was.
func (p *projecting) value(parts []*part) (some, ok bool) {
	first := p.peek()
	for _, part := range parts {
		if part.whole {
			text, valid := p.raw()
			p.out = append(p.out, text...)
			return true, valid
		}
	}
	switch first {
	case '{':
		return true, p.members(parts)
	case '[':
		return true, p.elements(parts)
	}
	_, ok = p.scalar()
	return false, ok
}

func (p *projecting) members(parts []*part) bool {
	p.out = append(p.out, '{')
	begin := len(p.out)
	ok := p.object(func(name []byte) bool {
		wanted := make([]*part, 0, 2)
		for _, part := range parts {
			wanted = part.member(name, wanted)
		}
		return p.one(begin, name, wanted)
	})
	p.out = append(p.out, '}')
	return ok
}

func (p *projecting) elements(parts []*part) bool {
	p.out = append(p.out, '[')
	begin, i := len(p.out), 0
	ok := p.array(func() bool {
		wanted := make([]*part, 0, 2)
		for _, part := range parts {
			wanted = part.element(i, wanted)
		}
		i++
		return p.one(begin, nil, wanted)
	})
	p.out = append(p.out, ']')
	return ok
}

// one steps over a member or an element. begin is where the first one of them is written.
func (p *projecting) one(begin int, name []byte, wanted []*part) bool {
	if len(wanted) == 0 {
		return p.skip()
	}
	before := len(p.out)
	if before > begin {
		p.out = append(p.out, ',')
	}
	if name != nil {
		p.out = append(append(append(p.out, '"'), name...), '"', ':')
	}
	some, ok := p.value(wanted)
	if !some {
		p.out = p.out[:before]
	}
	return ok
}

// whole is wanted of members that are not named.
var whole = &part{whole: true}

// member appends what is wanted of a member, of whose name the text between the quotes is given.
func (p *part) member(name []byte, wanted []*part) []*part {
	named := p.members[string(name)]
	if escaped(name) {
		named = p.members[unquote(name)]
	}
	if named != nil {
		wanted = append(wanted, named)
	} else if p.others {
		wanted = append(wanted, whole)
	}
	if p.every != nil {
		wanted = append(wanted, p.every)
	}
	return wanted
}

func (p *part) element(i int, wanted []*part) []*part {
	if named := p.elements[i]; named != nil {
		wanted = append(wanted, named)
	}
	if p.every != nil {
		wanted = append(wanted, p.every)
	}
	return wanted
}
