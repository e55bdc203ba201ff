package gateway

// requestPath is what the path of a URL of the resource API names.
type requestPath struct {
	Group, Version, Namespace, Resource, Name, Subresource string
}
