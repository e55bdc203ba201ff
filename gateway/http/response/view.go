package response

import (
	"strconv"
	"time"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/encoding/projection"
	"revtail/etcdstore"
	"revtail/gateway/http/table"
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
	// Passes returns how often Object and Item read a document; zero: they return it.
	Passes() int
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

// Passes implements View.
func (v PlainView) Passes() int { return 0 }

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

func (v metadataView) Passes() int { return 1 }

// ProjectedView shows the fields that the client has selected.
type ProjectedView struct {
	PlainView
	fields *projection.Projection
}

// Object implements View.
func (v ProjectedView) Object(doc []byte) []byte { return v.fields.Project(doc) }

// Item implements View.
func (v ProjectedView) Item(doc []byte) []byte { return v.fields.Project(doc) }

// Passes implements View.
func (v ProjectedView) Passes() int { return 1 }

// tableView shows objects as rows of a Table. Only the first Table has the column definitions: in a watch, that of the first event.
type tableView struct {
	apiVersion string
	row        View // of the objects in the rows; nil: the rows have none
	table      table.Table
	described  bool
	now        func() time.Time
}

// Passes counts decoding and printing a document as twenty passes.
func (v *tableView) Passes() int { return 20 }

func (v *tableView) Object(doc []byte) []byte {
	revision, _ := jsontext.Lookup(doc, []string{"metadata", "resourceVersion"})
	n, _ := strconv.ParseInt(revision, 10, 64) // zero for a dry run
	return append(append(v.ListHead(encoding.ListMeta{ResourceVersion: n}), v.Item(doc)...), "]}"...)
}

// Bookmark returns a Table with one row without a name.
func (v *tableView) Bookmark(revision etcdstore.Revision, end bool) []byte {
	var object []byte
	if v.row != nil {
		object = v.row.Bookmark(revision, end)
	}
	cells := make([]any, v.table.Len())
	cells[0] = ""
	head := v.ListHead(encoding.ListMeta{ResourceVersion: int64(revision)})
	return append(encoding.AppendRow(head, cells, object), "]}"...)
}

func (v *tableView) ListHead(meta encoding.ListMeta) []byte {
	meta.APIVersion = v.apiVersion
	var definitions []byte
	if !v.described {
		definitions, v.described = v.table.Definitions(), true
	}
	return encoding.AppendTableHead(nil, meta, definitions)
}

func (v *tableView) Item(doc []byte) []byte {
	var object []byte
	if v.row != nil {
		object = v.row.Object(doc)
	}
	return encoding.AppendRow(nil, v.table.Cells(doc, v.now()), object)
}
