package watchcache

import (
	"revtail/encoding"
	"revtail/etcdstore"
)

// Object is one object at one revision, ready to be served. Objects are shared by all readers: never modify one.
type Object struct {
	Namespace string // empty: a cluster-wide resource
	Name      string
	Revision  etcdstore.Revision // its resourceVersion
	JSON      []byte             // the whole document on one line, resourceVersion included
	Labels    map[string]string

	// Invalid says why the value in etcd cannot be shown; JSON and Labels are then empty. Such an object is in no list and in
	// no watch.
	Invalid error

	path string // the end of the key, below the resource's prefix: the order of lists
}

// Path is the end of the object's key, below the prefix of its resource.
func (o *Object) Path() string { return o.path }

// SelectNamespace is the object's namespace. This and the next three make an Object what a selector can match.
func (o *Object) SelectNamespace() string { return o.Namespace }

// SelectName is the object's name.
func (o *Object) SelectName() string { return o.Name }

// SelectLabels are the object's labels.
func (o *Object) SelectLabels() map[string]string { return o.Labels }

// SelectDocument is the object's JSON.
func (o *Object) SelectDocument() []byte { return o.JSON }

// at is the object with another resourceVersion: how it is shown when it leaves, with the revision at which it left.
func (o *Object) at(revision etcdstore.Revision) *Object {
	out := *o
	out.Revision = revision
	document, err := encoding.SetResourceVersion(o.JSON, int64(revision))
	if err != nil { // cannot be: JSON was made by encoding.Normalize
		out.Invalid = err
	}
	out.JSON = document
	return &out
}

func byPath(a, b *Object) bool { return a.path < b.path }
