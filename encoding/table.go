package encoding

import "strconv"

// AppendTableHead appends a Table up to its first row; meta.Kind is not used. columns are the definitions of its columns, a
// JSON array; nil: null, which says that an earlier Table of the same watch has them. The rows follow, with a comma between
// two, then AppendListTail or, inside an event, "]}".
func AppendTableHead(dst []byte, meta ListMeta, columns []byte) []byte {
	dst = appendTypeMeta(dst, meta.APIVersion, "Table")
	dst = append(dst, `"metadata":{`...)
	if meta.ResourceVersion > 0 { // what a dry run would have made has none
		dst = appendResourceVersion(dst, meta.ResourceVersion)
	}
	if meta.Continue != "" {
		dst = append(dst, `,"continue":`...)
		dst = appendString(dst, meta.Continue)
	}
	if meta.RemainingItemCount != nil {
		dst = append(dst, `,"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, *meta.RemainingItemCount, 10)
	}
	dst = append(dst, `},"columnDefinitions":`...)
	if columns == nil {
		columns = []byte("null")
	}
	dst = append(dst, columns...)
	return append(dst, `,"rows":[`...)
}

// AppendRow appends a row of a Table: its cells, which are of the types that Unmarshal makes, then the object it stands for,
// a document; nil: null. A cell that JSON cannot say is null.
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
	if object == nil {
		object = []byte("null")
	}
	dst = append(dst, object...)
	return append(dst, '}')
}
