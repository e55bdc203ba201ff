package response

import (
	"revtail/encoding"
	"revtail/encoding/projection"
	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// View returns the JSON that a client gets of whole objects. It belongs to one request. Callers do not modify the results, which may be the
// documents of the cache.
type View interface {
	// Object returns an object as a response, or as the object of an event.
	Object(doc []byte) []byte
	// Bookmark returns the object of a BOOKMARK event; end: the one after the initial events.
	Bookmark(revision etcdstore.Revision, end bool) []byte
	// ListHead returns a list up to its first item. The view sets the kind and apiVersion of meta.
	ListHead(meta encoding.ListMeta) []byte
	// Item returns an object as an item of a list.
	Item(doc []byte) []byte
}

// PlainView shows objects unchanged.
type PlainView struct{ resource *resource.Resource }

// Object implements View.
func (v PlainView) Object(doc []byte) []byte { return doc }

// Bookmark implements View.
func (v PlainView) Bookmark(revision etcdstore.Revision, end bool) []byte {
	return encoding.AppendBookmarkObject(nil, v.resource.APIVersion(), v.resource.Kind, int64(revision), end)
}

// ListHead implements View.
func (v PlainView) ListHead(meta encoding.ListMeta) []byte {
	meta.APIVersion, meta.Kind = v.resource.APIVersion(), v.resource.ListKind()
	return encoding.AppendListHead(nil, meta)
}

// Item implements View.
func (v PlainView) Item(doc []byte) []byte { return doc }

// metadataView shows only the metadata, without decoding it.
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

// ProjectedView shows the fields that the client has selected.
type ProjectedView struct {
	PlainView
	fields *projection.Projection
}

// Object implements View.
func (v ProjectedView) Object(doc []byte) []byte { return v.fields.Project(doc) }

// Item implements View.
func (v ProjectedView) Item(doc []byte) []byte { return v.fields.Project(doc) }
