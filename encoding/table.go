package encoding

import "revtail/encoding/jsontext"

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
