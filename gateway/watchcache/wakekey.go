package watchcache

import "revtail/gateway/watchcache/selector"

// wakeKey selects the events that wake a watcher: the changes in a scope or, when its selector demands one value of a label or
// field, those of objects with this value before or after the change. So an event wakes only the watchers of its own value,
// whatever the number of watchers of other values.
type wakeKey struct {
	scope
	key   string // of the selector's equality; empty: every change in the scope
	value string
}

// maxIndexes bounds the labels and fields of wake keys, because each is read from every changed object.
const maxIndexes = 8

// indexes are the labels and fields of wake keys.
type indexes map[string]*index

type index struct {
	equality selector.Equality
	watchers int
}

// acquire returns the wake key of a new watcher; release undoes it.
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

// valuesOf returns the values of the object before and after a change.
func (x *index) valuesOf(e *event) []string {
	values := make([]string, 0, 2)
	if e.previous != nil {
		values = append(values, x.equality.Of(e.previous))
	}
	if e.current != nil {
		if value := x.equality.Of(e.current); len(values) == 0 || value != values[0] {
			values = append(values, value)
		}
	}
	return values
}

// scope is a part of a resource: all of it, one namespace, or one object.
type scope struct {
	namespace string // empty: all
	name      string // empty: all
}

// objectPath is the path of the object: in the namespace, or cluster-wide.
func (s scope) objectPath() string { return pathPrefix(s.namespace) + s.name }

// pathPrefix is the common prefix of the paths in a namespace.
func pathPrefix(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}

func (s scope) contains(o *Object) bool {
	return (s.namespace == "" || s.namespace == o.Namespace()) && (s.name == "" || s.name == o.Name())
}

// scopesOf are the scopes that contain an object.
func scopesOf(o *Object) [4]scope {
	namespace, name := o.Namespace(), o.Name()
	return [4]scope{
		{},
		{namespace: namespace},
		{name: name},
		{namespace: namespace, name: name},
	}
}
