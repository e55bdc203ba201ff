package response

import (
	"revtail/encoding"
	"revtail/encoding/projection"
	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// View is what of the objects of a resource a client gets to see, in JSON. It belongs to one request. The documents that
// come in are whole objects; what goes out may be such a document itself: never modify it.
type View interface {
	// Object is one object as an answer, or as what an event carries.
	Object(doc []byte) []byte
	// Bookmark is what a BOOKMARK event carries; end: the one that ends the initial events.
	Bookmark(revision etcdstore.Revision, end bool) []byte
	// ListHead is a list up to its first item. The kind and apiVersion of meta are the view's to set.
	ListHead(meta encoding.ListMeta) []byte
	// Item is one object of a list.
	Item(doc []byte) []byte
}

// PlainView shows objects as they are, byte for byte.
type PlainView struct{ resource *resource.Resource }

func (v PlainView) Object(doc []byte) []byte { return doc }

func (v PlainView) Bookmark(revision etcdstore.Revision, end bool) []byte {
	return encoding.AppendBookmarkObject(nil, v.resource.APIVersion(), v.resource.Kind, int64(revision), end)
}

func (v PlainView) ListHead(meta encoding.ListMeta) []byte {
	meta.APIVersion, meta.Kind = v.resource.APIVersion(), v.resource.ListKind()
	return encoding.AppendListHead(nil, meta)
}

func (v PlainView) Item(doc []byte) []byte { return doc }

// metadataView shows the metadata alone, without decoding it.
type metadataView struct{ apiVersion string }

func (v metadataView) Object(doc []byte) []byte {
	return encoding.AppendMetadata(nil, v.apiVersion, doc)
}

func (v metadataView) Bookmark(revision etcdstore.Revision, end bool) []byte {
	return encoding.AppendBookmarkObject(nil, v.apiVersion, asMetadata, int64(revision), end)
}

func (v metadataView) ListHead(meta encoding.ListMeta) []byte {
	meta.APIVersion, meta.Kind = v.apiVersion, asMetadataList
	return encoding.AppendListHead(nil, meta)
}

func (v metadataView) Item(doc []byte) []byte { return v.Object(doc) }

// ProjectedView shows of objects what the client wants to see.
type ProjectedView struct {
	PlainView
	fields *projection.Projection
}

func (v ProjectedView) Object(doc []byte) []byte { return v.fields.Project(doc) }

func (v ProjectedView) Item(doc []byte) []byte { return v.fields.Project(doc) }
