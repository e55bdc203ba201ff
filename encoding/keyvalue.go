package encoding

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// KeyValue is a key of etcd and what stands under it, as the keys API shows it.
type KeyValue struct {
	Key               string
	Value             []byte
	Created, Modified int64 // revisions
	Version           int64
	Lease             int64 // zero: none
	NoValue           bool  // the value is not shown
}

// AppendKeyValue appends it as a JSON object on one line. A value that is JSON appears as it is, without white space between
// its tokens; other text as a string; anything else in base64: the member encoding says which of these it is.
func AppendKeyValue(dst []byte, kv KeyValue) []byte {
	dst = AppendKey(append(dst, '{'), kv.Key)
	if !kv.NoValue {
		dst = appendValue(append(dst, `,"value":`...), kv.Value)
	}
	dst = strconv.AppendInt(append(dst, `,"createRevision":`...), kv.Created, 10)
	dst = strconv.AppendInt(append(dst, `,"modRevision":`...), kv.Modified, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), kv.Version, 10)
	if kv.Lease != 0 { // more than a number of JavaScript holds
		dst = strconv.AppendInt(append(dst, `,"lease":"`...), kv.Lease, 16)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// AppendKey appends the member of an object that names a key: key or, of one that is not UTF-8, key64.
func AppendKey(dst []byte, key string) []byte {
	if utf8.ValidString(key) {
		return appendString(append(dst, `"key":`...), key)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, `"key64":"`...), []byte(key))
	return append(dst, '"')
}

func appendValue(dst, value []byte) []byte {
	s := scanner{doc: value}
	switch {
	case s.skip() && s.end():
		if !s.loose {
			dst = append(dst, value...)
		} else {
			dst = appendCompact(dst, value)
		}
		return append(dst, `,"encoding":"json"`...)
	case utf8.Valid(value):
		return append(appendString(dst, string(value)), `,"encoding":"utf8"`...)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), value)
	return append(dst, `","encoding":"base64"`...)
}

func appendCompact(dst, value []byte) []byte {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		panic(err) // cannot be: the scanner found it valid
	}
	return append(dst, compact.Bytes()...)
}

// KeyEvent is a frame of a watch in the keys API.
type KeyEvent struct {
	Type     string // PUT, DELETE, SYNC or PROGRESS
	Revision int64
	Last     bool   // nothing of this revision follows: a client may resume here
	Skipped  int    // how many changes of the key before this one are not told
	Key      string // of DELETE
	Current  []byte // of PUT: what AppendKeyValue made
	Previous []byte // the same of the state before; nil: there was none, or it is not wanted
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

// AppendServerSentEvent appends the line of an event as browsers read it from an event stream: with id, a client that
// reconnects says it; zero: it says that of the event before.
func AppendServerSentEvent(dst, line []byte, id int64) []byte {
	if id > 0 {
		dst = append(strconv.AppendInt(append(dst, "id: "...), id, 10), '\n')
	}
	dst = append(append(dst, "data: "...), bytes.TrimSuffix(line, []byte("\n"))...)
	return append(dst, "\n\n"...)
}
