package encoding

import "strconv"

// ListMeta is what a list says about itself.
type ListMeta struct {
	APIVersion         string
	Kind               string // of the list, such as "PodList"
	ResourceVersion    int64
	Continue           string // the token of the next page; empty on the last one
	RemainingItemCount *int64 // how many items follow this page; nil: not said
}

// AppendListHead appends a list up to its first item. The documents of the items follow, with a comma between two, then
// AppendListTail.
func AppendListHead(dst []byte, meta ListMeta) []byte {
	dst = appendTypeMeta(dst, meta.APIVersion, meta.Kind)
	dst = append(dst, `"metadata":{`...)
	dst = appendResourceVersion(dst, meta.ResourceVersion)
	dst = append(dst, `,"continue":`...)
	dst = appendString(dst, meta.Continue)
	if meta.RemainingItemCount != nil {
		dst = append(dst, `,"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, *meta.RemainingItemCount, 10)
	}
	return append(dst, `},"items":[`...)
}

// AppendListTail ends the list that AppendListHead began.
func AppendListTail(dst []byte) []byte {
	return append(dst, "]}\n"...)
}
