package keyrange

import (
	"fmt"
	"slices"
)

// Policy is the set of keys that the keys API may read and write for any user. The rules of users restrict it further.
type Policy struct {
	read, write       []Range
	readAll, writeAll bool

	resources Range // is not writable, because the keys API does not validate objects
}

// own holds the gateway's own keys.
var own = Range{"revtail/"}

// everyKey is the flag for every key.
const everyKey = "*"

// NewPolicy opens keys, or prefixes if they end with a slash: those of read for reading, those of write for reading and writing. "*" is
// every key. resources is the prefix of the resources, without a slash at its end.
func NewPolicy(read, write []string, resources string) (*Policy, error) {
	p := &Policy{resources: Range{resources + "/"}, writeAll: slices.Contains(write, everyKey)}
	p.readAll = p.writeAll || slices.Contains(read, everyKey)
	for i, text := range slices.Concat(read, write) {
		if text == everyKey {
			continue
		}
		r, err := ParseKey(text)
		if err != nil {
			return nil, err
		}
		if p.read = append(p.read, r); i >= len(read) {
			p.write = append(p.write, r)
		}
	}
	return p, nil
}

// DeniedError is the error for keys that are not open.
type DeniedError struct {
	Reason string   // and which flag opens them
	Open   []string // the parts of them that are open
}

func (e *DeniedError) Error() string { return e.Reason }

// IsEmpty reports whether no key may be read or written.
func (p *Policy) IsEmpty() bool { return !p.readAll && len(p.read) == 0 }

// Read returns a *DeniedError unless the keys may be read.
func (p *Policy) Read(r Range) error {
	switch {
	case r.Within(own):
		return denied("%q is the gateway's own", r)
	case p.readAll || slices.ContainsFunc(p.read, r.Within):
		return nil
	}
	return &DeniedError{
		Reason: fmt.Sprintf("%q is not open in the keys API: start revtail with --keys %s, or with a prefix of it that ends with /", r, r),
		Open:   p.openIn(r),
	}
}

// openIn returns the parts of a range that may be read.
func (p *Policy) openIn(r Range) (open []string) {
	for _, each := range p.read {
		if each.Within(r) && !each.Within(own) {
			open = append(open, each.String())
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

// Write returns a *DeniedError unless the keys may be written.
func (p *Policy) Write(r Range) error {
	switch {
	case r.Overlaps(own):
		return denied("%q is, or holds, the gateway's own", r)
	case r.Overlaps(p.resources):
		return denied("%q is, or holds, what resources are kept in: write them at /api and /apis, where they are checked", r)
	case p.writeAll || slices.ContainsFunc(p.write, r.Within):
		return nil
	}
	return denied("%q cannot be written in the keys API: start revtail with --keys-writable %s, or with a prefix of it that ends with /", r, r)
}

func denied(format string, args ...any) error {
	return &DeniedError{Reason: fmt.Sprintf(format, args...)}
}
