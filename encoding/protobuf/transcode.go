package protobuf

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"revtail/encoding/jsontext"
)

// transcoder makes the protobuf form of a document without its Go value, in half of the time: it scans the document into values, in the order of
// JSON, and writes them from the last to the first, as generated code does, so that each size is known when it is written. It gives up on all that is
// not a usual document of the type, such as a member of another type, a null in a list, or a name that comes twice: the Go type knows these, and the errors.
type transcoder struct {
	scanner jsontext.Scanner
	values  []value // the first one is not used
	slots   []int32 // of messages, one for each field: its value, or 0
	entries []int32 // of the map that is being sorted
	out     []byte  // is written from its end
	start   int     // of what has been written to out
}

// value is one value of a field, or a list or a map of such values.
type value struct {
	text     []byte // of a text, bytes, the JSON of FieldsV1, or the protobuf form of a formCustom
	key      []byte // of an entry of a map
	number   uint64 // of a number, a bool, or a time in seconds
	child    int32  // the first slot of a message; the last value of a list or a map, or 0
	previous int32  // the value before this one in a list or a map, or 0
}

// transcoders are those that are not in use.
var transcoders = sync.Pool{New: func() any { return new(transcoder) }}

// most bounds the bytes of the buffer that a transcoder keeps.
const most = 256 << 10

// appendTo appends the protobuf form of a document in the envelope of its kind. It returns false if the document is unusual.
func (l *layout) appendTo(dst []byte, k *Kind, document []byte) ([]byte, bool) {
	t := transcoders.Get().(*transcoder)
	defer t.release()
	t.scanner = jsontext.NewScanner(document)
	t.values, t.slots = append(t.values, value{}), t.slots[:0]
	slots, ok := t.message(l)
	if !ok || !t.scanner.End() {
		return dst, false
	}
	t.begin(len(document))
	t.writeMessage(l, slots)
	dst = append(slices.Grow(dst, len(k.head)+t.written()+envelopeRest), k.head...)
	dst = appendField(dst, unknownRaw, t.written())
	return appendEnvelopeTail(append(dst, t.out[t.start:]...)), true
}

// release keeps a transcoder for the next document, and nothing of this one.
func (t *transcoder) release() {
	clear(t.values)
	t.values, t.scanner = t.values[:0], jsontext.Scanner{}
	if cap(t.out) <= most {
		transcoders.Put(t)
	}
}

// message scans an object and returns its first slot.
func (t *transcoder) message(l *layout) (int32, bool) {
	slots := t.newSlots(l)
	return slots, t.scanner.Peek() == '{' && t.scanner.Object(func(name []byte) bool {
		m, known := l.members[string(name)] // a name with an escape is that of no member, or an unusual one
		switch {
		case !known:
			return !jsontext.Escaped(name) && t.scanner.Skip()
		case m.typeMeta:
			_, ok := t.quoted()
			return ok
		}
		holder, at := t.embedded(l, slots, m.path)
		if t.slots[at+int32(m.field)] != 0 { //nolint:gosec // a struct has few fields
			return false
		}
		if t.scanner.Peek() == 'n' {
			_, ok := t.scanner.Scalar()
			return ok
		}
		v, ok := t.member(&holder.fields[m.field])
		t.slots[at+int32(m.field)] = v //nolint:gosec // as above
		return ok
	})
}

// newSlots returns the first of the slots of a message.
func (t *transcoder) newSlots(l *layout) int32 {
	first := len(t.slots)
	for range l.fields {
		t.slots = append(t.slots, 0)
	}
	return int32(first) //nolint:gosec // a document has less than 2 GiB
}

// newValue returns the index of a new value.
func (t *transcoder) newValue(v value) int32 {
	t.values = append(t.values, v)
	return int32(len(t.values) - 1) //nolint:gosec // as above
}

// embedded returns the layout and the first slot of an embedded struct.
func (t *transcoder) embedded(l *layout, slots int32, path []int) (*layout, int32) {
	for _, i := range path {
		l = l.fields[i].message
		at := slots + int32(i) //nolint:gosec // a struct has few fields
		if t.slots[at] == 0 {
			made := t.newValue(value{child: t.newSlots(l)})
			t.slots[at] = made
		}
		slots = t.values[t.slots[at]].child
	}
	return l, slots
}

// member scans the value of a member.
func (t *transcoder) member(f *field) (int32, bool) {
	switch f.repeats {
	case list:
		return t.list(f)
	case dictionary:
		return t.dictionary(f)
	case once:
	}
	v, ok := t.one(f)
	return t.newValue(v), ok
}

func (t *transcoder) list(f *field) (int32, bool) {
	if t.scanner.Peek() != '[' {
		return 0, false
	}
	last := int32(0)
	ok := t.scanner.Array(func() bool {
		v, ok := t.one(f)
		v.previous = last
		last = t.newValue(v)
		return ok
	})
	return t.newValue(value{child: last}), ok
}

// dictionary scans a map, and puts its entries into the order of their keys.
func (t *transcoder) dictionary(f *field) (int32, bool) {
	if t.scanner.Peek() != '{' {
		return 0, false
	}
	last, ordered := int32(0), true
	ok := t.scanner.Object(func(name []byte) bool {
		v, ok := t.one(f)
		v.previous, v.key = last, unquote(name)
		ordered = ordered && (last == 0 || bytes.Compare(t.values[last].key, v.key) < 0)
		last = t.newValue(v)
		return ok
	})
	if ok && !ordered {
		last, ok = t.order(last)
	}
	return t.newValue(value{child: last}), ok
}

// order sorts the entries of a map by their keys, and returns the last one. It returns false if a key comes twice.
func (t *transcoder) order(last int32) (int32, bool) {
	entries := t.entries[:0]
	for ; last != 0; last = t.values[last].previous {
		entries = append(entries, last)
	}
	slices.SortFunc(entries, func(a, b int32) int { return bytes.Compare(t.values[a].key, t.values[b].key) })
	for _, entry := range entries {
		if last != 0 && bytes.Equal(t.values[last].key, t.values[entry].key) {
			return 0, false
		}
		t.values[entry].previous = last
		last = entry
	}
	t.entries = entries
	return last, true
}

// one scans one value of a field.
func (t *transcoder) one(f *field) (v value, ok bool) {
	switch f.form {
	case formText:
		v.text, ok = t.quoted()
	case formBytes:
		if v.text, ok = t.quoted(); ok {
			var err error
			v.text, err = base64.StdEncoding.AppendDecode(nil, v.text)
			ok = err == nil
		}
	case formNumber:
		v.number, ok = t.integer(f.bits)
	case formBool:
		v.number, ok = t.boolean()
	case formMessage:
		v.child, ok = t.message(f.message)
	case formTime:
		v.number, ok = t.time()
	case formFields:
		if v.text, ok = t.scanner.Raw(); ok {
			ok = v.text[0] == '{'
		}
	case formCustom:
		v.text, ok = t.custom(f)
	}
	return v, ok
}

// quoted scans a text.
func (t *transcoder) quoted() ([]byte, bool) {
	if t.scanner.Peek() != '"' {
		return nil, false
	}
	raw, ok := t.scanner.Quoted()
	return unquote(raw), ok
}

func unquote(raw []byte) []byte {
	if jsontext.Escaped(raw) {
		return []byte(jsontext.Unquote(raw))
	}
	return raw
}

// integer scans an integer.
func (t *transcoder) integer(bits int) (uint64, bool) {
	raw, ok := t.scanner.Scalar()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, bits)
	return uint64(n), err == nil //nolint:gosec // a varint is the two's complement
}

func (t *transcoder) boolean() (uint64, bool) {
	raw, ok := t.scanner.Scalar()
	switch string(raw) {
	case "true":
		return 1, ok
	case "false":
		return 0, ok
	}
	return 0, false
}

// time scans a time after the year 1, whose zero value is written as nothing.
func (t *transcoder) time() (uint64, bool) {
	text, ok := t.quoted()
	if !ok {
		return 0, false
	}
	parsed, err := time.Parse(time.RFC3339, string(text))
	return uint64(parsed.Unix()), err == nil && parsed.UTC().Year() > 1 //nolint:gosec // a varint is the two's complement
}

// custom scans a value that decodes and encodes itself.
func (t *transcoder) custom(f *field) ([]byte, bool) {
	raw, ok := t.scanner.Raw()
	if !ok || raw[0] == 'n' {
		return nil, false
	}
	decoded := reflect.New(f.custom).Interface()
	if err := decoded.(json.Unmarshaler).UnmarshalJSON(raw); err != nil {
		return nil, false
	}
	message := decoded.(encoded)
	text, err := appendMessage(nil, message, message.Size())
	return text, err == nil
}
