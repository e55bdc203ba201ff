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
