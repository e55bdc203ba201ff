package encoding

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

// KeyValue is a key of etcd with its value.
type KeyValue struct {
	Key               string
	Value             []byte
	Created, Modified int64 // revisions
	Version           int64
	Lease             int64 // zero: none
	NoValue           bool  // omits the value
	Base64            bool  // encodes any value in base64, which keeps each byte
}

// AppendKeyValue appends kv as a JSON object on one line. The member encoding tells how the value is encoded: json for compact JSON,
// utf8 for other text as a string, base64 for all other bytes.
func AppendKeyValue(dst []byte, kv KeyValue) []byte {
	dst = AppendKey(append(dst, '{'), kv.Key)
	if !kv.NoValue {
		dst = appendValue(append(dst, `,"value":`...), kv)
	}
	dst = strconv.AppendInt(append(dst, `,"createRevision":`...), kv.Created, 10)
	dst = strconv.AppendInt(append(dst, `,"modRevision":`...), kv.Modified, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), kv.Version, 10)
	if kv.Lease != 0 { // a string, because JavaScript would round the number
		dst = strconv.AppendInt(append(dst, `,"lease":"`...), kv.Lease, 16)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// AppendKey appends the member of an object with a key: key or, if it is not UTF-8, key64.
func AppendKey(dst []byte, key string) []byte {
	if utf8.ValidString(key) {
		return jsontext.AppendString(append(dst, `"key":`...), key)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, `"key64":"`...), []byte(key))
	return append(dst, '"')
}

func appendValue(dst []byte, kv KeyValue) []byte {
	value := kv.Value
	if kv.Base64 {
		return appendBase64(dst, value)
	}
	if compact, ok := jsontext.TryCompact(value); ok {
		return append(append(dst, compact...), `,"encoding":"json"`...)
	}
	if utf8.Valid(value) {
		return append(jsontext.AppendString(dst, string(value)), `,"encoding":"utf8"`...)
	}
	return appendBase64(dst, value)
}

func appendBase64(dst, value []byte) []byte {
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), value)
	return append(dst, `","encoding":"base64"`...)
}

// KeyEvent is a frame of a watch in the keys API.
type KeyEvent struct {
	Type     string // PUT, DELETE, SYNC or PROGRESS
	Revision int64
	Last     bool   // no event of this revision follows: a client may resume here
	Skipped  int    // the number of earlier changes of the key that the watch skipped
	Key      string // of DELETE
	Current  []byte // of PUT: the output of AppendKeyValue
	Previous []byte // the same for the state before; nil: none, or not requested
}

// AppendKeyEvent appends the line of an event.
func AppendKeyEvent(dst []byte, e KeyEvent) []byte {
	dst = append(append(dst, `{"type":"`...), e.Type...)
	dst = strconv.AppendInt(append(dst, `","revision":`...), e.Revision, 10)
	if e.Last {
		dst = append(dst, `,"last":true`...)
	}
	if e.Skipped > 0 {
		dst = strconv.AppendInt(append(dst, `,"skipped":`...), int64(e.Skipped), 10)
	}
	switch {
	case e.Current != nil:
		dst = append(append(dst, ','), e.Current[1:len(e.Current)-1]...)
	case e.Key != "":
		dst = AppendKey(append(dst, ','), e.Key)
	}
	if e.Previous != nil {
		dst = append(append(dst, `,"prev":`...), e.Previous...)
	}
	return append(dst, "}\n"...)
}

// AppendServerSentEvent appends the line of an event as a server-sent event. A browser sends the last id when it reconnects; zero: the
// event has no id.
func AppendServerSentEvent(dst, line []byte, id int64) []byte {
	if id > 0 {
		dst = append(strconv.AppendInt(append(dst, "id: "...), id, 10), '\n')
	}
	dst = append(append(dst, "data: "...), bytes.TrimSuffix(line, []byte("\n"))...)
	return append(dst, "\n\n"...)
}
