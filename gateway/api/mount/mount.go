package mount

import (
	"fmt"
	"strings"

	"revtail/encoding/codec"
	"revtail/gateway/resource"
)

// Mount says which prefix of etcd is shown, and as what: an entry of the configuration.
type Mount struct {
	Prefix     string      `json:"prefix"` // ends with "/"
	Group      string      `json:"group"`
	Version    string      `json:"version"`
	Kind       string      `json:"kind"`
	Plural     string      `json:"plural"`
	Namespaced bool        `json:"namespaced"` // the first segment of a key is the namespace
	Codec      codec.Value `json:"codec"`
	Writable   bool        `json:"writable"`
}

// Default returns the defaults of an entry.
func Default() Mount { return Mount{Version: "v1", Codec: codec.ValueJSON} }

// Resource makes the resource of a mount that Check has nothing against.
func (m Mount) Resource() *resource.Resource {
	return &resource.Resource{
		Group: m.Group, Version: m.Version, Plural: m.Plural, Singular: strings.ToLower(m.Kind), Kind: m.Kind, Namespaced: m.Namespaced,
		Ungenerated: true, Mount: &m, ReadOnly: !m.Writable, Schema: schema{&m}, ValidateName: m.validateName,
	}
}

// SameObjects reports whether the objects of two mounts are the same, whether or not they can be written.
func (m Mount) SameObjects(o Mount) bool {
	m.Writable = o.Writable
	return m == o
}

// String returns the name of the mount for messages.
func (m Mount) String() string { return fmt.Sprintf("%s.%s at %q", m.Plural, m.Group, m.Prefix) }

var _ resource.Mount = (*Mount)(nil)

// KeyPrefix returns the prefix of the keys.
func (m *Mount) KeyPrefix() string { return m.Prefix }

// Path returns the path of a key's object: the path of its scope or, if the key is too long for a name, one that no scope has.
func (m *Mount) Path(rest string) string {
	name, namespace := rest, ""
	if m.Namespaced {
		segment, below, found := strings.Cut(rest, "/")
		if found {
			name, namespace = below, escapeName(segment, inNamespace)
		} else {
			namespace = nowhere
		}
	}
	name = escapeName(name, inName)
	if len(name) > maxName || len(namespace) > maxName {
		return "\x00" + rest
	}
	return resource.Scope{Namespace: namespace, Name: name}.Path()
}

// split returns the scope of a path; false: the key is too long for a name.
func (m *Mount) split(path string) (resource.Scope, bool) {
	if strings.HasPrefix(path, "\x00") {
		return resource.Scope{}, false
	}
	if !m.Namespaced {
		return resource.Scope{Name: path}, true
	}
	namespace, name, _ := strings.Cut(path, "/")
	return resource.Scope{Namespace: namespace, Name: name}, true
}

// Key returns the key of one object; false: no key has that name.
func (m *Mount) Key(scope resource.Scope) (string, bool) {
	name, ok := unescapeName(scope.Name, inName)
	if !ok || len(scope.Name) > maxName || len(scope.Namespace) > maxName {
		return "", false
	}
	if !m.Namespaced {
		return m.Prefix + name, scope.Namespace == ""
	}
	if scope.Namespace == nowhere {
		return m.Prefix + name, !strings.Contains(name, "/")
	}
	segment, ok := unescapeName(scope.Namespace, inNamespace)
	return m.Prefix + segment + "/" + name, ok && !strings.Contains(segment, "/")
}

// validateName returns the errors of a name; prefix: the name is the start of a longer one.
func (m *Mount) validateName(name string, prefix bool) []string {
	if prefix {
		name += "a"
	}
	if _, ok := unescapeName(name, inName); ok && len(name) <= maxName {
		return nil
	}
	if len(name) > maxName {
		return []string{fmt.Sprintf("must have no more than %d bytes", maxName)}
	}
	return []string{fmt.Sprintf("is the name of no key: the one for %q is %q", name, escapeName(name, inName))}
}
