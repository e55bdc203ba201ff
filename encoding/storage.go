package encoding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The members that come first in a stored value; the rest follow in byte order.
var (
	topOrder      = []string{"kind", "apiVersion", "metadata"}
	metadataOrder = []string{"name", "generateName", "namespace", "uid"}
)

// Marshal returns object as it is stored: compact, without a newline at the end, equal objects to equal bytes.
// The members come in the order kind, apiVersion, metadata, then by name; inside metadata name, generateName, namespace,
// uid, then by name. metadata.resourceVersion is left out: the key's revision is it. object is not modified.
//
// It fails on what JSON cannot say: a string that is not UTF-8, NaN, an infinity, a type encoding/json has no rule for,
// more than 10,000 levels.
func Marshal(object map[string]any) ([]byte, error) {
	e := encoder{dst: make([]byte, 0, 2048), names: make([]string, 0, 32)}
	e.object(object, topOrder, func(name string, value any) {
		if metadata, ok := value.(map[string]any); ok && name == "metadata" {
			if _, ok := metadata["resourceVersion"]; ok {
				metadata = maps.Clone(metadata)
				delete(metadata, "resourceVersion")
			}
			e.object(metadata, metadataOrder, nil)
			return
		}
		e.value(value)
	})
	if e.err != nil {
		return nil, fmt.Errorf("encoding: %w", e.err)
	}
	return e.dst, nil
}

// encoder appends values to dst until err is set.
type encoder struct {
	dst   []byte
	names []string // of the objects that are being written, the innermost last
	depth int
	err   error
}

// object appends an object: the members that are named in first, then the others in the order of their names. A nil member
// writes every value as it is.
func (e *encoder) object(object map[string]any, first []string, member func(name string, value any)) {
	if !e.enter('{') {
		return
	}
	if member == nil {
		member = func(_ string, value any) { e.value(value) }
	}
	base := len(e.names)
	for _, name := range first {
		if _, ok := object[name]; ok {
			e.names = append(e.names, name)
		}
	}
	sorted := len(e.names)
	for name := range object {
		if !slices.Contains(e.names[base:sorted], name) {
			e.names = append(e.names, name)
		}
	}
	slices.Sort(e.names[sorted:])
	for i, end := base, len(e.names); i < end && e.err == nil; i++ {
		if i > base {
			e.dst = append(e.dst, ',')
		}
		name := e.names[i]
		e.string(name)
		e.dst = append(e.dst, ':')
		member(name, object[name])
	}
	e.names = e.names[:base]
	e.leave('}')
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
		e.object(value, nil, nil)
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
