package encoding

import (
	"fmt"
	"slices"
)

// Compact returns a JSON value of any type without white space between its tokens; one that has none is returned as it is. The
// error is a *DecodeError.
func Compact(value []byte) ([]byte, error) {
	s := scanner{doc: value}
	if !s.skip() || !s.end() {
		return nil, refuse(value)
	}
	if !s.loose {
		return value, nil
	}
	return appendCompact(make([]byte, 0, len(value)), value), nil
}

// MarshalValue returns a value of the types that Unmarshal makes as JSON, as Marshal writes it: equal values are equal bytes.
func MarshalValue(value any) ([]byte, error) {
	e := encoder{}
	if e.value(value); e.err != nil {
		return nil, fmt.Errorf("encoding: %w", e.err)
	}
	return e.dst, nil
}

// AppendString appends text as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, text string) []byte { return appendString(dst, text) }

// Wrapping makes an object of a value that is none.
type Wrapping struct {
	Identity
	UID         string
	Annotations [][2]string // names and values, in the order in which they are shown
	Members     [][2]string // names of members beside the metadata, and their values as JSON, compact
}

// Object returns the object, with a resourceVersion unless that is zero.
func (w Wrapping) Object(resourceVersion int64) (Object, error) {
	doc := append(appendString([]byte(`{"kind":`), w.Kind), `,"apiVersion":`...)
	doc = append(appendString(doc, w.APIVersion), `,"metadata":{"name":`...)
	doc = appendString(doc, w.Name)
	if w.Namespace != "" {
		doc = appendString(append(doc, `,"namespace":`...), w.Namespace)
	}
	doc = appendString(append(doc, `,"uid":`...), w.UID)
	for i, annotation := range w.Annotations {
		separator := `,"annotations":{`
		if i > 0 {
			separator = ","
		}
		doc = append(appendString(append(doc, separator...), annotation[0]), ':')
		doc = appendString(doc, annotation[1])
	}
	if len(w.Annotations) > 0 {
		doc = append(doc, '}')
	}
	doc = append(doc, '}')
	for _, member := range w.Members {
		doc = append(append(appendString(append(doc, ','), member[0]), ':'), member[1]...)
	}
	doc = append(doc, '}')
	if resourceVersion == 0 {
		return Object{JSON: slices.Clip(doc)}, nil
	}
	return Normalize(doc, w.Identity, resourceVersion)
}
