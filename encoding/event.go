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
