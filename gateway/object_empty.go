package gateway

import "revtail/gateway/resource"

// emptyObject is an object of a resource without a name or any other field: the state before a create.
func emptyObject(res *resource.Resource) document {
	return newDocument(map[string]any{"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{}})
}
