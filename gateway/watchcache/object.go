package watchcache

import (
	"bytes"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"revtail/encoding"
	"revtail/etcdstore"
)

// Object is one object at one revision. All readers share it: never modify one.
type Object struct {
	encoding.Object // the whole document, with its resourceVersion; empty: not decodable

	Revision etcdstore.Revision

	// Invalid says why the value in etcd cannot be decoded. An invalid object without a document is in no list and no watch.
	Invalid error

	path   string // see Path
	shared bool   // document and path are parts of larger memory, which may be written again: see detached
}

// newObject makes an object without a document.
func newObject(path string, revision etcdstore.Revision) *Object {
	return &Object{path: path, Revision: revision}
}

// nameStart returns where the name begins in a path.
func nameStart(path string) int { return strings.IndexByte(path, '/') + 1 }

func isNamed(path, name string) bool { return path[nameStart(path):] == name }

// Shown reports whether the object has a document.
func (o *Object) Shown() bool { return o.Invalid == nil || len(o.JSON) > 0 }

// Unreadable says why the value in etcd cannot be decrypted; nil: it is not encrypted, or was decrypted.
func (o *Object) Unreadable() *etcdstore.UnreadableError {
	found, _ := errors.AsType[*etcdstore.UnreadableError](o.Invalid)
	return found
}

// Path is the key without the prefix of its resource, or what Config.Path makes of it. Lists are in the order of paths.
func (o *Object) Path() string { return o.path }

// Namespace is the object's namespace; empty: a cluster-wide resource.
func (o *Object) Namespace() string { return o.path[:max(nameStart(o.path), 1)-1] }

// Name is the object's name.
func (o *Object) Name() string { return o.path[nameStart(o.path):] }

// SelectLabels implements selector.Object.
func (o *Object) SelectLabels() labels.Labels { return (*objectLabels)(o) }

// SelectDocument implements selector.Object.
func (o *Object) SelectDocument() []byte { return o.JSON }

// objectLabels implements labels.Labels with a pointer, because a slice in an interface is an allocation.
type objectLabels Object

func (l *objectLabels) Has(name string) bool              { return l.Labels().Has(name) }
func (l *objectLabels) Get(name string) string            { return l.Labels().Get(name) }
func (l *objectLabels) Lookup(name string) (string, bool) { return l.Labels().Lookup(name) }

// withRevision is the object with another resourceVersion: a DELETED event shows the last state with the revision of the deletion.
// A document without a resourceVersion stays as it is.
func (o *Object) withRevision(revision etcdstore.Revision) *Object {
	out := *o
	out.Revision = revision
	document, err := encoding.SetResourceVersion(o.JSON, int64(revision))
	if err == nil {
		out.Object = encoding.Object{JSON: document}
	}
	return &out
}

// size is the bytes of the object in a list: its document and a comma.
func (o *Object) size() int { return len(o.JSON) + len(",") }

// detached is the object with its own memory, because a small object must not keep its whole block alive.
func (o *Object) detached() *Object {
	if o == nil || !o.shared {
		return o
	}
	out := *o
	out.JSON, out.path, out.shared = bytes.Clone(o.JSON), strings.Clone(o.path), false
	return &out
}
