package watchcache

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"revtail/encoding"
	"revtail/etcdstore"
)

// Object is one object at one revision, ready to be served. Objects are shared by all readers: never modify one.
type Object struct {
	encoding.Object // the whole document, resourceVersion included; nothing if it cannot be shown

	Revision etcdstore.Revision // its resourceVersion

	// Invalid says why the value in etcd cannot be decoded. An object that has no document either is in no list and in no watch.
	Invalid error

	path      string // the end of the key, below the resource's prefix: the order of lists
	nameStart uint32 // where in path the name begins
	// packed is where JSON stands in the text of a block, plus one; zero: it has memory of its own.
	packed uint32
}

// newObject makes the object at a path; its document is the caller's to set.
func newObject(path string, revision etcdstore.Revision) *Object {
	return &Object{path: path, Revision: revision, nameStart: uint32(strings.IndexByte(path, '/') + 1)}
}

// Shown tells whether there is something to show.
func (o *Object) Shown() bool { return o.Invalid == nil || len(o.JSON) > 0 }

// Path is the end of the object's key, below the prefix of its resource, or what Config.Path makes of it.
func (o *Object) Path() string { return o.path }

// Namespace is the object's namespace; empty: a cluster-wide resource.
func (o *Object) Namespace() string { return o.path[:max(o.nameStart, 1)-1] }

// Name is the object's name.
func (o *Object) Name() string { return o.path[o.nameStart:] }

// SelectNamespace is the object's namespace. This and the next three make an Object what a selector can match.
func (o *Object) SelectNamespace() string { return o.Namespace() }

// SelectName is the object's name.
func (o *Object) SelectName() string { return o.Name() }

// SelectLabels are the object's labels.
func (o *Object) SelectLabels() labels.Labels { return (*objectLabels)(o) }

// SelectDocument is the object's JSON.
func (o *Object) SelectDocument() []byte { return o.JSON }

// objectLabels are the labels of an object. A pointer is an interface at no cost, a slice is not.
type objectLabels Object

func (l *objectLabels) Has(name string) bool              { return l.Labels().Has(name) }
func (l *objectLabels) Get(name string) string            { return l.Labels().Get(name) }
func (l *objectLabels) Lookup(name string) (string, bool) { return l.Labels().Lookup(name) }

// at is the object with another resourceVersion: how it is shown when it leaves, with the revision at which it left. A document
// that has none stays as it is.
func (o *Object) withRevision(revision etcdstore.Revision) *Object {
	out := *o
	out.Revision = revision
	document, err := encoding.SetResourceVersion(o.JSON, int64(revision))
	if err == nil {
		out.Object = encoding.Object{JSON: document}
	}
	return &out
}

// size is what the object takes of a list: its document and a comma.
func (o *Object) size() int { return len(o.JSON) + len(",") }

// alone is the object in memory of its own: who keeps one for long must not keep all its neighbours.
func (o *Object) detached() *Object {
	if o == nil || o.packed == 0 {
		return o
	}
	out := *o
	out.Object = o.At(bytes.Clone(o.JSON))
	out.path, out.packed = strings.Clone(o.path), 0
	return &out
}
