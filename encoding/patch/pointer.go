package patch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pointer is a JSON pointer (RFC 6901), as the names on the way.
type pointer []string

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// parsePointer parses a member of an operation.
func parsePointer(members map[string]any, name string) (pointer, error) {
	text, ok := members[name].(string)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is missing, or not a string", name)
	case text == "":
		return nil, nil
	case text[0] != '/':
		return nil, fmt.Errorf("%s %.64q does not begin with a slash", name, text)
	}
	p := pointer(strings.Split(text[1:], "/"))
	for i := range p {
		p[i] = unescape.Replace(p[i])
	}
	return p, nil
}

// String returns the pointer for messages, without its escapes.
func (p pointer) String() string {
	const longest = 256
	text := strings.Join(append([]string{""}, p...), "/")
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

var (
	errMissing = errors.New("missing value")
	errTest    = errors.New("test failed")
)

// find returns the value at a path.
func (e *editor) find(path pointer) (any, error) {
	value := e.doc
	for i, name := range path {
		var err error
		if value, err = child(value, name); err != nil {
			return nil, fmt.Errorf("path %v: %w", path[:i+1], err)
		}
	}
	return value, nil
}

// child returns a member of an object, or an element of a list.
func child(parent any, name string) (any, error) {
	switch parent := parent.(type) {
	case map[string]any:
		value, ok := parent[name]
		if !ok {
			return nil, errMissing
		}
		return value, nil
	case []any:
		i, err := index(name, len(parent))
		if err != nil {
			return nil, err
		}
		return parent[i], nil
	}
	return nil, errMissing
}

// index parses an index below length. A negative one counts from the end.
func index(name string, length int) (int, error) {
	i, err := strconv.Atoi(name)
	if i < 0 {
		i += length
	}
	if err != nil || i < 0 || i >= length {
		return 0, fmt.Errorf("%.64q is not an index of a list of %d", name, length)
	}
	return i, nil
}

// edit replaces the parent of the value at a path by what change returns for it and the last name of the path.
func (e *editor) edit(path pointer, change func(parent any, name string) (any, error)) error {
	parent, name := path[:len(path)-1], path[len(path)-1]
	old, err := e.find(parent)
	if err != nil {
		return err
	}
	next, err := change(old, name)
	if err != nil {
		return err
	}
	if _, list := next.([]any); list { // it may have moved
		return e.replace(parent, next)
	}
	return nil
}

// add adds a member, which may exist, or inserts an element of a list.
func (e *editor) add(path pointer, value any) error {
	if len(path) == 0 {
		e.doc = value
		return nil
	}
	return e.edit(path, func(parent any, name string) (any, error) {
		switch parent := parent.(type) {
		case map[string]any:
			parent[name] = value
			return parent, nil
		case []any:
			if name == "-" {
				return append(parent, value), nil
			}
			i, err := index(name, len(parent)+1)
			if err == nil {
				err = e.move(len(parent) - i)
			}
			if err != nil {
				return nil, err
			}
			return slices.Insert(parent, i, value), nil
		}
		return nil, errors.New("its parent is neither an object nor a list")
	})
}

// remove removes the value at a path, and returns it.
func (e *editor) remove(path pointer) (any, error) {
	if len(path) == 0 {
		return nil, errors.New("the whole document cannot be removed")
	}
	var removed any
	err := e.edit(path, func(parent any, name string) (_ any, err error) {
		if removed, err = child(parent, name); err != nil {
			return nil, fmt.Errorf("unable to remove nonexistent key: %.256s: %w", name, err)
		}
		switch parent := parent.(type) {
		case map[string]any:
			delete(parent, name)
		case []any:
			i, err := index(name, len(parent))
			if err == nil {
				err = e.move(len(parent) - i)
			}
			if err != nil {
				return nil, err
			}
			return slices.Delete(parent, i, i+1), nil
		}
		return parent, nil
	})
	return removed, err
}

// replace replaces the value at a path. A member may be missing, as in a kube-apiserver, where RFC 6902 wants that it exists: clients replace
// what an object leaves out because it is empty.
func (e *editor) replace(path pointer, value any) error {
	if len(path) == 0 {
		e.doc = value
		return nil
	}
	return e.edit(path, func(parent any, name string) (any, error) {
		switch parent := parent.(type) {
		case map[string]any:
			parent[name] = value
		default:
			return nil, errMissing
		case []any:
			i, err := index(name, len(parent))
			if err != nil {
				return nil, err
			}
			parent[i] = value
		}
		return nil, nil
	})
}

// move counts list elements that are moved.
func (e *editor) move(elements int) error {
	if e.moved += elements; e.moved > maxMoved {
		return fmt.Errorf("%w: its operations move more than %d list elements; send fewer at a time", ErrTooLarge, maxMoved)
	}
	return nil
}
