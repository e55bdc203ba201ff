package gateway

import (
	"revtail/encoding"
	"revtail/encoding/projection"
	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// view is what of the objects of a resource a client gets to see, in JSON. It belongs to one request. The documents that
// come in are whole objects; what goes out may be such a document itself: never modify it.
type view interface {
	// object is one object as an answer, or as what an event carries.
	object(doc []byte) []byte
	// bookmark is what a BOOKMARK event carries; end: the one that ends the initial events.
	bookmark(revision etcdstore.Revision, end bool) []byte
	// listHead is a list up to its first item. The kind and apiVersion of meta are the view's to set.
	listHead(meta encoding.ListMeta) []byte
	// item is one object of a list.
	item(doc []byte) []byte
}

// plainView shows objects as they are, byte for byte.
type plainView struct{ resource *resource.Resource }

func (v plainView) object(doc []byte) []byte { return doc }

func (v plainView) bookmark(revision etcdstore.Revision, end bool) []byte {
	return encoding.AppendBookmarkObject(nil, v.resource.APIVersion(), v.resource.Kind, int64(revision), end)
}

func (v plainView) listHead(meta encoding.ListMeta) []byte {
	meta.APIVersion, meta.Kind = v.resource.APIVersion(), v.resource.ListKind()
	return encoding.AppendListHead(nil, meta)
}

func (v plainView) item(doc []byte) []byte { return doc }

// metadataView shows the metadata alone, without decoding it.
type metadataView struct{ apiVersion string }

func (v metadataView) object(doc []byte) []byte {
	return encoding.AppendMetadata(nil, v.apiVersion, doc)
}

func (v metadataView) bookmark(revision etcdstore.Revision, end bool) []byte {
	return encoding.AppendBookmarkObject(nil, v.apiVersion, asMetadata, int64(revision), end)
}

func (v metadataView) listHead(meta encoding.ListMeta) []byte {
	meta.APIVersion, meta.Kind = v.apiVersion, asMetadataList
	return encoding.AppendListHead(nil, meta)
}

func (v metadataView) item(doc []byte) []byte { return v.object(doc) }

// projectedView shows of objects what the client wants to see.
type projectedView struct {
	plainView
	fields *projection.Projection
}

func (v projectedView) object(doc []byte) []byte { return v.fields.Project(doc) }

func (v projectedView) item(doc []byte) []byte { return v.fields.Project(doc) }
