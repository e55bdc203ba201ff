package resource

// Ref is what a URL names: a collection of objects, an object, or a subresource of one.
type Ref struct {
	Resource    *Resource
	Scope       Scope
	Subresource string // empty: the object itself
}
