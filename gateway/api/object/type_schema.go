package object

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typeSchema checks whether decoded JSON matches a Go type strictly. It is compiled once for each type, because this check is faster than
// encoding the object and parsing it into the type. Nearly all objects match. An object that does not match may be valid (a null among
// elements, a number written as 1.0): the parser decides, and returns the error.
type typeSchema struct {
	kind     reflect.Kind // Struct, Map, Slice, String, Bool, Int64 or Float64; Invalid: no value matches
	fields   map[string]*typeSchema
	elem     *typeSchema
	goType   reflect.Type
	encoding valueEncoding
}

// valueEncoding says how the JSON of a type is decoded, if not by its kind.
type valueEncoding int

const (
	plainEncoding valueEncoding = iota
	base64Encoding
	timeEncoding
	unmarshalerEncoding
	anyEncoding
)

var typeSchemas = struct {
	sync.Mutex
	byType map[reflect.Type]*typeSchema
}{byType: map[reflect.Type]*typeSchema{}}

// typeSchemaOf returns the schema of a type, which the first call compiles.
func typeSchemaOf(t reflect.Type) *typeSchema {
	typeSchemas.Lock()
	defer typeSchemas.Unlock()
	return typeSchemaLocked(t)
}

func typeSchemaLocked(t reflect.Type) *typeSchema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, ok := typeSchemas.byType[t]
	if !ok {
		s = &typeSchema{goType: t}
		typeSchemas.byType[t] = s // for types that contain themselves
		s.compileLocked(t)
	}
	return s
}

func (s *typeSchema) compileLocked(t reflect.Type) {
	_, unmarshals := reflect.New(t).Interface().(json.Unmarshaler)
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[metav1.Time]():
		s.encoding = timeEncoding
	case t == reflect.TypeFor[metav1.FieldsV1]():
		s.kind, s.elem = reflect.Map, &typeSchema{encoding: anyEncoding} // it keeps the JSON
	case unmarshals:
		s.encoding = unmarshalerEncoding
	case readsText(t):
	case kind == reflect.Struct:
		s.kind, s.fields = kind, map[string]*typeSchema{}
		s.addFieldsLocked(t)
	case kind == reflect.Map && t.Key().Kind() == reflect.String && !readsText(t.Key()):
		s.kind, s.elem = kind, typeSchemaLocked(t.Elem())
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		s.encoding = base64Encoding
	case kind == reflect.Slice:
		s.kind, s.elem = kind, typeSchemaLocked(t.Elem())
	case kind == reflect.Int, kind == reflect.Int32, kind == reflect.Int64:
		s.kind = reflect.Int64
	case kind == reflect.String, kind == reflect.Bool, kind == reflect.Float64:
		s.kind = kind
	}
}

func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// addFieldsLocked adds the fields of a struct, and those of embedded structs.
func (s *typeSchema) addFieldsLocked(t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-", !field.IsExported():
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			s.addFieldsLocked(field.Type)
		case strings.Contains(options, "string"), name == "":
			s.fields[field.Name] = &typeSchema{} // no value matches
		default:
			s.fields[name] = typeSchemaLocked(field.Type)
		}
	}
}

// matches reports whether the type accepts a value without a doubt.
func (s *typeSchema) matches(value any) bool {
	if s.encoding == anyEncoding {
		return true
	}
	switch value := value.(type) {
	case nil:
		return s.kind != reflect.Invalid || s.encoding != plainEncoding && s.accepts(nil)
	case map[string]any:
		return s.matchesObject(value)
	case []any:
		for _, element := range value {
			if s.kind != reflect.Slice || element == nil || !s.elem.matches(element) {
				return false
			}
		}
		return s.kind == reflect.Slice
	case string:
		return s.kind == reflect.String || s.encoding != plainEncoding && s.accepts(value)
	case bool:
		return s.kind == reflect.Bool
	case int64:
		switch s.kind {
		case reflect.Int64:
			return !reflect.Zero(s.goType).OverflowInt(value)
		case reflect.Float64:
			return true
		}
	case float64:
		return s.kind == reflect.Float64
	}
	return s.encoding == unmarshalerEncoding && s.accepts(value)
}

func (s *typeSchema) matchesObject(object map[string]any) bool {
	if s.encoding == unmarshalerEncoding {
		return s.accepts(object)
	}
	for name, value := range object {
		member := s.elem
		if s.kind == reflect.Struct {
			member = s.fields[name]
		}
		if member == nil || value == nil && s.kind == reflect.Map || !member.matches(value) {
			return false
		}
	}
	return s.kind == reflect.Struct || s.kind == reflect.Map
}

// accepts reports whether the type itself decodes a value.
func (s *typeSchema) accepts(value any) bool {
	text, isText := value.(string)
	var err error
	switch s.encoding {
	case base64Encoding:
		_, err = base64.StdEncoding.DecodeString(text)
		return err == nil && (isText || value == nil)
	case timeEncoding:
		if isText {
			_, err = time.Parse(time.RFC3339, text)
		}
		return err == nil && (isText || value == nil)
	}
	encoded, err := json.Marshal(value)
	return err == nil && reflect.New(s.goType).Interface().(json.Unmarshaler).UnmarshalJSON(encoded) == nil
}
