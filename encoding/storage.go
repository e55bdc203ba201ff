package encoding

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	e := encoder{dst: make([]byte, 0, 1024)}
	e.members(names(object, topOrder), func(name string) {
		metadata, ok := object[name].(map[string]any)
		if name != "metadata" || !ok {
			e.value(object[name])
			return
		}
		stored := slices.DeleteFunc(names(metadata, metadataOrder), func(name string) bool { return name == "resourceVersion" })
		e.members(stored, func(name string) { e.value(metadata[name]) })
	})
	if e.err != nil {
		return nil, fmt.Errorf("encoding: %w", e.err)
	}
	return e.dst, nil
}

// names returns the member names of object, those in first before all others, which are sorted.
func names(object map[string]any, first []string) []string {
	rank := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
}

// encoder appends values to dst until err is set.
type encoder struct {
	dst   []byte
	depth int
	err   error
}

func (e *encoder) members(names []string, value func(name string)) {
	if e.depth++; e.depth > maxDepth {
		e.err = fmt.Errorf("nested deeper than %d levels", maxDepth)
		return
	}
	e.dst = append(e.dst, '{')
	for i, name := range names {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.string(name)
		e.dst = append(e.dst, ':')
		if value(name); e.err != nil {
			return
		}
	}
	e.dst = append(e.dst, '}')
	e.depth--
}

func (e *encoder) elements(array []any) {
	if e.depth++; e.depth > maxDepth {
		e.err = fmt.Errorf("nested deeper than %d levels", maxDepth)
		return
	}
	e.dst = append(e.dst, '[')
	for i, element := range array {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		if e.value(element); e.err != nil {
			return
		}
	}
	e.dst = append(e.dst, ']')
	e.depth--
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
		e.members(slices.Sorted(maps.Keys(value)), func(name string) { e.value(value[name]) })
	case []any:
		if value == nil {
			e.dst = append(e.dst, "null"...)
			return
		}
		e.elements(value)
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

// Unmarshal decodes a JSON object, and nothing after it. Numbers come as apimachinery has them, int64 if they are integers and
// float64 otherwise, but for those which these types cannot hold without a change, which come as json.Number.
// The error is a *DecodeError.
func Unmarshal(doc []byte) (map[string]any, error) {
	if !utf8.Valid(doc) {
		return nil, refuse(doc)
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, refuse(doc)
	}
	if rest := bytes.TrimLeft(doc[decoder.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, refuse(doc)
	}
	object, ok := decoded.(map[string]any)
	if !ok {
		return nil, errNotObject()
	}
	convertNumbers(object)
	return object, nil
}
