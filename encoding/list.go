package encoding

import (
	"strconv"

	"revtail/encoding/jsontext"
)

// ListMeta is the metadata of a list.
type ListMeta struct {
	APIVersion         string
	Kind               string // of the list, such as "PodList"
	ResourceVersion    int64
	Continue           string // the token of the next page; empty on the last page
	RemainingItemCount *int64 // the number of items after this page; nil: unknown
}

// AppendListHead appends a list up to its first item. The documents of the items follow, separated by commas, then AppendListTail.
func AppendListHead(dst []byte, meta ListMeta) []byte {
	dst = appendTypeMeta(dst, meta.APIVersion, meta.Kind)
	dst = append(dst, `"metadata":{`...)
	dst = appendResourceVersion(dst, meta.ResourceVersion)
	dst = append(dst, `,"continue":`...)
	dst = jsontext.AppendString(dst, meta.Continue)
	dst = appendRemaining(dst, meta.RemainingItemCount)
	return append(dst, `},"items":[`...)
}

func appendRemaining(dst []byte, count *int64) []byte {
	if count == nil {
		return dst
	}
	return strconv.AppendInt(append(dst, `,"remainingItemCount":`...), *count, 10)
}

// AppendListTail ends the list that AppendListHead began.
func AppendListTail(dst []byte) []byte {
	return append(dst, "]}\n"...)
}

// AppendTableHead appends a Table up to its first row; it does not use meta.Kind. columns is the JSON array of its column definitions;
// nil: null, because an earlier Table of the same watch has them. The rows follow, separated by commas, then AppendListTail or,
// inside an event, "]}".
func AppendTableHead(dst []byte, meta ListMeta, columns []byte) []byte {
	dst = appendTypeMeta(dst, meta.APIVersion, "Table")
	dst = append(dst, `"metadata":{`...)
	if meta.ResourceVersion > 0 { // zero: the result of a dry run
		dst = appendResourceVersion(dst, meta.ResourceVersion)
	}
	if meta.Continue != "" {
		dst = append(dst, `,"continue":`...)
		dst = jsontext.AppendString(dst, meta.Continue)
	}
	dst = appendRemaining(dst, meta.RemainingItemCount)
	dst = append(dst, `},"columnDefinitions":`...)
	dst = appendOrNull(dst, columns)
	return append(dst, `,"rows":[`...)
}

// AppendRow appends a row of a Table: its cells, which are values of jsontext.Unmarshal, then the document of its object; nil: null. A
// cell that JSON cannot encode is null.
func AppendRow(dst []byte, cells []any, object []byte) []byte {
	dst = append(dst, `{"cells":[`...)
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		e := encoder{dst: dst}
		if e.value(cell); e.err == nil {
			dst = e.dst
		} else {
			dst = append(dst, "null"...)
		}
	}
	dst = append(dst, `],"object":`...)
	return append(appendOrNull(dst, object), '}')
}

func appendOrNull(dst, text []byte) []byte {
	if text == nil {
		return append(dst, "null"...)
	}
	return append(dst, text...)
}
