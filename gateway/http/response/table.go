package response

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/http/table"
	"revtail/gateway/resource"
)

// tableView shows objects as rows of a Table. Only the first Table has the column definitions: in a watch, that of the first event.
type tableView struct {
	resource   *resource.Resource
	apiVersion string
	include    metav1.IncludeObjectPolicy
	columns    table.Columns
	described  bool
	now        func() time.Time
}

func (v *tableView) Object(doc []byte) []byte {
	revision, _ := jsontext.Lookup(doc, []string{"metadata", "resourceVersion"})
	n, _ := strconv.ParseInt(revision, 10, 64) // zero for a dry run
	return append(append(v.ListHead(encoding.ListMeta{ResourceVersion: n}), v.Item(doc)...), "]}"...)
}

// Bookmark returns a Table with one row without a name.
func (v *tableView) Bookmark(revision etcdstore.Revision, end bool) []byte {
	var object []byte
	switch v.include {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		object = PlainView{v.resource}.Bookmark(revision, end)
	default:
		object = metadataView{v.apiVersion}.Bookmark(revision, end)
	}
	cells := make([]any, len(v.columns))
	cells[0] = ""
	head := v.ListHead(encoding.ListMeta{ResourceVersion: int64(revision)})
	return append(encoding.AppendRow(head, cells, object), "]}"...)
}

func (v *tableView) ListHead(meta encoding.ListMeta) []byte {
	meta.APIVersion = v.apiVersion
	var definitions []byte
	if !v.described {
		definitions, v.described = v.columns.Definitions(), true
	}
	return encoding.AppendTableHead(nil, meta, definitions)
}

func (v *tableView) Item(doc []byte) []byte {
	return encoding.AppendRow(nil, v.columns.Cells(doc, v.now()), v.rowObject(doc))
}

// rowObject returns the object in a row; nil: none.
func (v *tableView) rowObject(doc []byte) []byte {
	switch v.include {
	case metav1.IncludeNone:
		return nil
	case metav1.IncludeObject:
		return doc
	}
	return metadataView{v.apiVersion}.Object(doc)
}
