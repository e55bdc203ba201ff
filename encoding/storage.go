package encoding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// layout is how the members of an object follow one another.
type layout struct {
	first    []string // come first; the rest follows in byte order
	without  []string // are left out
	metadata *layout  // of the member of this name, where it is an object; nil: as of all others
}

var stored = &layout{
	first:    []string{"kind", "apiVersion", "metadata"},
	metadata: &layout{first: []string{"name", "generateName", "namespace", "uid"}, without: []string{"resourceVersion"}},
}

// Marshal returns object as it is stored: compact, without a newline at the end, equal objects to equal bytes.
// The members come in the order kind, apiVersion, metadata, then by name; inside metadata name, generateName, namespace,
// uid, then by name. metadata.resourceVersion is left out: the key's revision is it. object is not modified.
//
// It fails on what JSON cannot say: a string that is not UTF-8, NaN, an infinity, a type encoding/json has no rule for,
// more than 10,000 levels.
func Marshal(object map[string]any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.free()
	e.object(object, stored)
	if e.err != nil {
		return nil, fmt.Errorf("encoding: %w", e.err)
	}
	return bytes.Clone(e.dst), nil
}

// encoder appends values to dst until err is set.
type encoder struct {
	dst   []byte
	names []string // of the objects that are being written, the innermost last
	depth int
	err   error
}

// encoders are kept for as long as there is much to encode: a value is as large as it must be, and what it grows in is not
// garbage.
var encoders = sync.Pool{New: func() any { return &encoder{dst: make([]byte, 0, 2048), names: make([]string, 0, 32)} }}

// maxKept bounds what an encoder that waits holds.
const maxKept = 64 << 10

func (e *encoder) free() {
	if cap(e.dst) > maxKept || cap(e.names) > maxKept/16 {
		return
	}
	clear(e.names[:cap(e.names)]) // they may be parts of a document
	*e = encoder{dst: e.dst[:0], names: e.names[:0]}
	encoders.Put(e)
}

// object appends an object; without a layout in the order of the names.
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

// order appends the names of the members to be written.
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
	if e.depth++; e.depth > maxDepth {
		e.err = fmt.Errorf("nested deeper than %d levels", maxDepth)
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
	e.dst = appendString(e.dst, text)
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

// other leaves floats, json.Number and the types that Unmarshal never makes to encoding/json.
func (e *encoder) other(value any) {
	text, err := marshalJSON(value)
	if err != nil {
		e.err = err
		return
	}
	e.dst = append(e.dst, text...)
}

// marshalJSON is json.Marshal without its escaping for HTML.
func marshalJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'}), nil
}
