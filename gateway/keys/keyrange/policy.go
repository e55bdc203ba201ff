package keyrange

import (
	"fmt"
	"slices"
)

// Policy says which keys the plain dialect opens at all, to whomever it may concern.
type Policy struct {
	read, write []Range
	all, change bool // every key may be read, be written

	resources Range // are not written here: what is written there is judged
}

// own is where the gateway keeps what is its own.
var own = Range{"revtail/"}

// everything in place of a key is every key.
const everything = "*"

// NewPolicy opens keys and, where they end with a slash, prefixes: read to be read, write to be read and written. None is the
// default, "*" is every key. resources is the prefix of the resources, without a slash at its end.
func NewPolicy(read, write []string, resources string) (*Policy, error) {
	a := &Policy{resources: Range{resources + "/"}, change: slices.Contains(write, everything)}
	a.all = a.change || slices.Contains(read, everything)
	for _, given := range []struct {
		texts []string
		to    *[]Range
	}{{read, &a.read}, {write, &a.write}} {
		for _, text := range given.texts {
			if text == everything {
				continue
			}
			r, err := ParseKey(text)
			if err != nil {
				return nil, err
			}
			*given.to = append(*given.to, r)
		}
	}
	a.read = append(a.read, a.write...)
	return a, nil
}

// DeniedError says that keys are not open, and what to do.
type DeniedError struct {
	Reason string
	Open   []string // what is open of them, where a part is
}

func (e *DeniedError) Error() string { return e.Reason }

// IsEmpty reports whether no key may be read or written.
func (a *Policy) IsEmpty() bool { return !a.all && len(a.read) == 0 }

// Read returns a *DeniedError unless the keys may be read.
func (a *Policy) Read(r Range) error {
	switch {
	case r.Within(own):
		return denied("%q is the gateway's own", r)
	case a.all || slices.ContainsFunc(a.read, r.Within):
		return nil
	}
	return &DeniedError{
		Reason: fmt.Sprintf("%q is not open in the plain dialect: start revtail with --keys %s, or with a prefix of it that ends with /", r, r),
		Open:   a.openIn(r),
	}
}

// openIn is what of a range may be read.
func (a *Policy) openIn(r Range) (open []string) {
	for _, each := range a.read {
		if each.Within(r) && !each.Within(own) {
			open = append(open, each.String())
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

// Write returns a *DeniedError unless the keys may be written.
func (a *Policy) Write(r Range) error {
	switch {
	case r.Meets(own):
		return denied("%q is, or holds, the gateway's own", r)
	case r.Meets(a.resources):
		return denied("%q is, or holds, what resources are kept in: write them at /api and /apis, where they are checked", r)
	case a.change || slices.ContainsFunc(a.write, r.Within):
		return nil
	}
	return denied("%q cannot be written in the plain dialect: start revtail with --keys-writable %s, or with a prefix of it that ends with /", r, r)
}

func denied(format string, args ...any) error {
	return &DeniedError{Reason: fmt.Sprintf(format, args...)}
}
