package watchcache

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
