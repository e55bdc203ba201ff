package watchcache

import (
	"iter"

	"revtail/gateway/watchcache/selector"
)

// topic is what a watcher waits for: the changes in a scope or, where its selector demands one value of a label or a field,
// those of objects that have this value before or after the change. Thousands of watchers that each wait for a value of their
// own so cost an event one wake-up.
type wakeKey struct {
	scope
	key   string // of the selector's equality; empty: every change of the scope
	value string
}

// maxIndexes bounds how many labels and fields of one resource watchers are woken by: each is read from every changed object.
const maxIndexes = 8

// indexes are the labels and fields that watchers are woken by.
type indexes map[string]*index

type index struct {
	equality selector.Equality
	watchers int
}

// open says what a new watcher waits for; close takes that back.
func (x indexes) acquire(in scope, s *selector.Selector) wakeKey {
	equality, ok := s.Equality()
	if !ok {
		return wakeKey{scope: in}
	}
	known := x[equality.Key]
	if known == nil {
		if len(x) == maxIndexes {
			return wakeKey{scope: in}
		}
		known = &index{equality: equality}
		x[equality.Key] = known
	}
	known.watchers++
	return wakeKey{in, equality.Key, equality.Value}
}

func (x indexes) release(key wakeKey) {
	known := x[key.key]
	if known == nil {
		return
	}
	if known.watchers--; known.watchers == 0 {
		delete(x, key.key)
	}
}

// valuesOf yields, for each label or field, the values of the object before and after a change.
func (x indexes) valuesOf(e *event) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for key, known := range x {
			values := make([]string, 0, 2)
			if e.previous != nil {
				values = append(values, known.equality.Of(e.previous))
			}
			if e.current != nil {
				if value := known.equality.Of(e.current); len(values) == 0 || value != values[0] {
					values = append(values, value)
				}
			}
			if !yield(key, values) {
				return
			}
		}
	}
}

// scope is the part of a resource that a reader asked for: all of it, one namespace, or one object.
type scope struct {
	namespace string // empty: all
	name      string // empty: all
}

// path is what the paths of the scope begin with. It is as narrow as the order of keys allows: a name without a namespace
// may stand in any namespace.
func (s scope) path() string {
	if s.namespace == "" {
		return ""
	}
	return s.objectPath()
}

// objectPath is the path of an object of that name: in the namespace, or cluster-wide.
func (s scope) objectPath() string { return pathPrefix(s.namespace) + s.name }

// pathPrefix is what the paths of the objects in a namespace begin with; empty: those of all.
func pathPrefix(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}

func (s scope) contains(o *Object) bool {
	return (s.namespace == "" || s.namespace == o.Namespace()) && (s.name == "" || s.name == o.Name())
}

// scopesOf are the scopes that an object belongs to: those whose watchers wake when it changes.
func scopesOf(o *Object) [4]scope {
	namespace, name := o.Namespace(), o.Name()
	return [4]scope{
		{},
		{namespace: namespace},
		{name: name},
		{namespace: namespace, name: name},
	}
}
