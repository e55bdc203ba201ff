package encoding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

// layout is the order of the members of an object.
type layout struct {
	first    []string // before the others, which follow in byte order
	without  []string // omitted
	metadata *layout  // of the object metadata; nil: byte order
}

var stored = &layout{
	first:    []string{"kind", "apiVersion", "metadata"},
	metadata: &layout{first: []string{"name", "generateName", "namespace", "uid"}, without: []string{"resourceVersion"}},
}

// Marshal returns the stored form of an object: compact, without a newline at the end, and the same bytes for equal objects. The order
// is kind, apiVersion, metadata, then all other names; inside metadata name, generateName, namespace, uid, then all other names. It
// omits metadata.resourceVersion, because that is the revision of the key. It does not modify object.
//
// It fails for a string that is not UTF-8, NaN, an infinity, a type that encoding/json cannot encode, and more than 10,000 levels.
func Marshal(object map[string]any) ([]byte, error) {
	return marshal(func(e *encoder) { e.object(object, stored) })
}

// MarshalValue returns a value of jsontext.Unmarshal as compact JSON with sorted names, so that equal values are equal bytes.
func MarshalValue(value any) ([]byte, error) {
	return marshal(func(e *encoder) { e.value(value) })
}

func marshal(encode func(*encoder)) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.free()
	if encode(e); e.err != nil {
		return nil, fmt.Errorf("encoding: %w", e.err)
	}
	return bytes.Clone(e.dst), nil
}

// encoder appends values to dst until err is set.
type encoder struct {
	dst   []byte
	names []string // of the current objects, the innermost last
	depth int
	err   error
}

// encoders keeps the buffers of encoders, because a value is cloned at its final size and the buffer would be garbage.
var encoders = sync.Pool{New: func() any { return &encoder{dst: make([]byte, 0, 2048), names: make([]string, 0, 32)} }}

// maxKept bounds the buffer of an encoder in the pool.
const maxKept = 64 << 10

func (e *encoder) free() {
	if cap(e.dst) > maxKept || cap(e.names) > maxKept/16 {
		return
	}
	clear(e.names[:cap(e.names)]) // they may share the memory of a document
	*e = encoder{dst: e.dst[:0], names: e.names[:0]}
	encoders.Put(e)
}

// object appends an object; nil: without a layout, in byte order.
func (e *encoder) object(object map[string]any, l *layout) {
	if !e.enter('{') {
		return
	}
	if l == nil {
		l = &layout{}
	}
	base := len(e.names)
	e.order(object, l)
	for i, end := base, len(e.names); i < end && e.err == nil; i++ {
		if i > base {
			e.dst = append(e.dst, ',')
		}
		name := e.names[i]
		e.string(name)
		e.dst = append(e.dst, ':')
		if metadata, ok := object[name].(map[string]any); ok && l.metadata != nil && name == "metadata" {
			e.object(metadata, l.metadata)
			continue
		}
		e.value(object[name])
	}
	e.names = e.names[:base]
	e.leave('}')
}

// order appends the names of the members in the order of the output.
func (e *encoder) order(object map[string]any, l *layout) {
	base := len(e.names)
	for _, name := range l.first {
		if _, ok := object[name]; ok {
			e.names = append(e.names, name)
		}
	}
	sorted := len(e.names)
	for name := range object {
		if !slices.Contains(l.without, name) && !slices.Contains(e.names[base:sorted], name) {
			e.names = append(e.names, name)
		}
	}
	slices.Sort(e.names[sorted:])
}

func (e *encoder) enter(bracket byte) bool {
	if e.depth++; e.depth > jsontext.MaxDepth {
		e.err = fmt.Errorf("nested deeper than %d levels", jsontext.MaxDepth)
		return false
	}
	e.dst = append(e.dst, bracket)
	return true
}

func (e *encoder) leave(bracket byte) {
	e.dst = append(e.dst, bracket)
	e.depth--
}

func (e *encoder) array(array []any) {
	if !e.enter('[') {
		return
	}
	for i, element := range array {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		if e.value(element); e.err != nil {
			return
		}
	}
	e.leave(']')
}

func (e *encoder) string(text string) {
	if !utf8.ValidString(text) {
		e.err = fmt.Errorf("%.40q is not valid UTF-8", text)
		return
	}
	e.dst = jsontext.AppendString(e.dst, text)
}

func (e *encoder) value(value any) {
	switch value := value.(type) {
	case map[string]any:
		if value == nil {
			e.dst = append(e.dst, "null"...)
			return
		}
		e.object(value, nil)
	case []any:
		if value == nil {
			e.dst = append(e.dst, "null"...)
			return
		}
		e.array(value)
	case string:
		e.string(value)
	case int64:
		e.dst = strconv.AppendInt(e.dst, value, 10)
	case bool:
		e.dst = strconv.AppendBool(e.dst, value)
	case nil:
		e.dst = append(e.dst, "null"...)
	default:
		e.other(value)
	}
}

// other encodes floats, json.Number and types that jsontext.Unmarshal never returns.
func (e *encoder) other(value any) {
	text, err := marshalJSON(value)
	if err != nil {
		e.err = err
		return
	}
	e.dst = append(e.dst, text...)
}

// marshalJSON is json.Marshal without the escapes for HTML.
func marshalJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'}), nil
}
