package encoding

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
)

// EventType is the type of an event of a watch.
type EventType string

// The types of events in the protocol.
const (
	Added    EventType = "ADDED"    // the object was created, or begins to match
	Modified EventType = "MODIFIED" // the object was changed
	Deleted  EventType = "DELETED"  // the object was deleted, or no longer matches; the event has its last matching state
	Bookmark EventType = "BOOKMARK" // all events up to this resourceVersion have been sent
	Error    EventType = "ERROR"    // the watch ends; the object is a Status
)

// AppendEvent appends the line of one event. object is a document on one line, such as Object.JSON.
func AppendEvent(dst []byte, t EventType, object []byte) []byte {
	dst = appendEventHead(dst, t)
	dst = append(dst, object...)
	return append(dst, '}', '\n')
}

func appendEventHead(dst []byte, t EventType) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, t...)
	return append(dst, `","object":`...)
}

// AppendBookmarkObject appends the object of a BOOKMARK event: it has the kind of the resource, a resourceVersion and, if
// initialEventsEnd is set, the annotation that ends the initial events.
func AppendBookmarkObject(dst []byte, apiVersion, kind string, resourceVersion int64, initialEventsEnd bool) []byte {
	dst = appendTypeMeta(dst, apiVersion, kind)
	dst = append(dst, `"metadata":{`...)
	dst = appendResourceVersion(dst, resourceVersion)
	if initialEventsEnd {
		dst = append(dst, `,"annotations":{"`+metav1.InitialEventsAnnotationKey+`":"true"}`...)
	}
	return append(dst, "}}"...)
}

// appendTypeMeta appends the start of an object up to the comma after its apiVersion.
func appendTypeMeta(dst []byte, apiVersion, kind string) []byte {
	dst = append(dst, `{"kind":`...)
	dst = jsontext.AppendString(dst, kind)
	dst = append(dst, `,"apiVersion":`...)
	dst = jsontext.AppendString(dst, apiVersion)
	return append(dst, ',')
}

func appendResourceVersion(dst []byte, resourceVersion int64) []byte {
	dst = append(dst, `"resourceVersion":"`...)
	dst = strconv.AppendInt(dst, resourceVersion, 10)
	return append(dst, '"')
}

// AppendError appends the line of the error that ends a watch.
func AppendError(dst []byte, status *metav1.Status) []byte {
	dst = appendEventHead(dst, Error)
	dst = appendStatus(dst, status)
	return append(dst, '}', '\n')
}

// ListMeta is the metadata of a list.
type ListMeta struct {
	APIVersion         string
	Kind               string // of the list, such as "PodList"
	ResourceVersion    int64  // negative: the objects are not stored, and the list has none
	Continue           string // the token of the next page; empty on the last page
	RemainingItemCount *int64 // the number of items after this page; nil: unknown
}

// AppendListHead appends a list up to its first item. The documents of the items follow, separated by commas, then AppendListTail.
func AppendListHead(dst []byte, meta ListMeta) []byte {
	dst = appendTypeMeta(dst, meta.APIVersion, meta.Kind)
	dst = append(dst, `"metadata":{`...)
	if meta.ResourceVersion >= 0 {
		dst = appendResourceVersion(dst, meta.ResourceVersion)
		dst = append(dst, `,"continue":`...)
		dst = jsontext.AppendString(dst, meta.Continue)
		dst = appendRemaining(dst, meta.RemainingItemCount)
	}
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

// AppendStatus appends a Status as the body of a response, with a newline at its end. It sets kind and apiVersion of a copy of status.
func AppendStatus(dst []byte, status *metav1.Status) []byte {
	return append(appendStatus(dst, status), '\n')
}

func appendStatus(dst []byte, status *metav1.Status) []byte {
	typed := *status
	typed.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	text, err := marshalJSON(&typed)
	if err != nil {
		panic("encoding: a Status is always valid JSON: " + err.Error())
	}
	return append(dst, text...)
}

// AppendProblem appends an error as application/problem+json (RFC 9457): reason is for programs, detail for people. open is an
// extension member (section 3.2) with the values that are allowed instead of the requested one.
func AppendProblem(dst []byte, status int, reason, detail string, open ...string) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":"about:blank","title":`...), reason)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(status), 10)
	dst = jsontext.AppendString(append(dst, `,"detail":`...), detail)
	for i, text := range open {
		separator := `,`
		if i == 0 {
			separator = `,"open":[`
		}
		dst = jsontext.AppendString(append(dst, separator...), text)
	}
	if len(open) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}\n"...)
}

// AppendKeyError appends the line of the error that ends a watch in the keys API.
func AppendKeyError(dst []byte, status int, reason, detail string) []byte {
	dst = append(dst, `{"type":"ERROR","error":`...)
	dst = AppendProblem(dst, status, reason, detail)
	return append(dst[:len(dst)-1], "}\n"...)
}
