package encoding

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EventType says what an event of a watch tells.
type EventType string

// The types of event that the protocol has.
const (
	Added    EventType = "ADDED"    // the object was made, or came to match
	Modified EventType = "MODIFIED" // the object was changed
	Deleted  EventType = "DELETED"  // the object was removed, or no longer matches; it comes in its last matching state
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

// AppendBookmarkObject appends what a BOOKMARK event carries: an object of the resource's own kind with nothing in it but a
// resourceVersion and, when initialEventsEnd is set, the annotation that ends the initial events.
func AppendBookmarkObject(dst []byte, apiVersion, kind string, resourceVersion int64, initialEventsEnd bool) []byte {
	dst = appendTypeMeta(dst, apiVersion, kind)
	dst = append(dst, `"metadata":{`...)
	dst = appendResourceVersion(dst, resourceVersion)
	if initialEventsEnd {
		dst = append(dst, `,"annotations":{"`+metav1.InitialEventsAnnotationKey+`":"true"}`...)
	}
	return append(dst, "}}"...)
}

// appendTypeMeta appends the beginning of an object, up to and with the comma after its apiVersion.
func appendTypeMeta(dst []byte, apiVersion, kind string) []byte {
	dst = append(dst, `{"kind":`...)
	dst = appendString(dst, kind)
	dst = append(dst, `,"apiVersion":`...)
	dst = appendString(dst, apiVersion)
	return append(dst, ',')
}

func appendResourceVersion(dst []byte, resourceVersion int64) []byte {
	dst = append(dst, `"resourceVersion":"`...)
	dst = strconv.AppendInt(dst, resourceVersion, 10)
	return append(dst, '"')
}

// AppendError appends the line of an error, after which a server ends the watch.
func AppendError(dst []byte, status *metav1.Status) []byte {
	dst = appendEventHead(dst, Error)
	dst = appendStatus(dst, status)
	return append(dst, '}', '\n')
}
