package request

import (
	"strings"

	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache/selector"
)

// NarrowScope applies the field selectors metadata.name and metadata.namespace to a scope, unless the URL has these.
func (p ListOptions) NarrowScope(namespace, name *string) {
	if only, ok := p.Selector.Namespace(); ok && *namespace == "" {
		*namespace = only
	}
	if only, ok := p.Selector.Name(); ok && *name == "" {
		*name = only
	}
}

// SelectorOf returns the selector of a request for objects of a resource. It refuses one on a field that none of them can have.
func SelectorOf(res *resource.Resource, s *selector.Selector) (*selector.Selector, error) {
	for _, path := range s.Fields() {
		if paths := res.FieldPaths(path); paths != nil {
			s = s.WithPaths(strings.Join(path, "."), paths)
		} else if err := res.CheckField(path); err != nil {
			return s, status.BadRequest("%v", err)
		}
	}
	for _, path := range s.Fields() {
		if value := res.AbsentValue(path); value != "" {
			s = s.WithAbsent(strings.Join(path, "."), value)
		}
	}
	return s, nil
}
