package gateway

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

// shape is what a decoded object must look like for a Go type to take its JSON, strictly, without a complaint. It is
// compiled once for each type, so that the objects that are right, which are nearly all, need not be written and parsed
// again to find that out. What does not fit may yet be taken (a null among elements, a number written as 1.0): the parser
// then has the word, and says what is wrong.
type shape struct {
	kind   reflect.Kind // what is taken: Struct, Map, Slice, String, Bool, Int64 or Float64; Invalid: nothing is sure
	fields map[string]*shape
	elem   *shape
	goType reflect.Type
	own    ownShape
}

// ownShape says how a type that is not what its kind says takes its JSON.
type ownShape int

const (
	plainShape ownShape = iota
	base64Shape
	timeShape
	unmarshalerShape
	anyShape
)

var compiled = struct {
	sync.Mutex
	of map[reflect.Type]*shape
}{of: map[reflect.Type]*shape{}}

// shapeOf is the shape of a type; it is made when it is first asked for.
func shapeOf(t reflect.Type) *shape {
	compiled.Lock()
	defer compiled.Unlock()
	return shapeLocked(t)
}

func shapeLocked(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, ok := compiled.of[t]
	if !ok {
		s = &shape{goType: t}
		compiled.of[t] = s // where a type contains itself, it is found here
		s.compileLocked(t)
	}
	return s
}

func (s *shape) compileLocked(t reflect.Type) {
	_, unmarshals := reflect.New(t).Interface().(json.Unmarshaler)
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[metav1.Time]():
		s.own = timeShape
	case t == reflect.TypeFor[metav1.FieldsV1]():
		s.kind, s.elem = reflect.Map, &shape{own: anyShape} // it keeps the text
	case unmarshals:
		s.own = unmarshalerShape
	case readsText(t):
	case kind == reflect.Struct:
		s.kind, s.fields = kind, map[string]*shape{}
		s.addFieldsLocked(t)
	case kind == reflect.Map && t.Key().Kind() == reflect.String && !readsText(t.Key()):
		s.kind, s.elem = kind, shapeLocked(t.Elem())
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		s.own = base64Shape
	case kind == reflect.Slice:
		s.kind, s.elem = kind, shapeLocked(t.Elem())
	case kind == reflect.Int, kind == reflect.Int32, kind == reflect.Int64:
		s.kind = reflect.Int64
	case kind == reflect.String, kind == reflect.Bool, kind == reflect.Float64:
		s.kind = kind
	}
}

func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// addFieldsLocked adds the fields of a struct, and those of the structs that its JSON has in the same object.
func (s *shape) addFieldsLocked(t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-", !field.IsExported():
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			s.addFieldsLocked(field.Type)
		case strings.Contains(options, "string"), name == "":
			s.fields[field.Name] = &shape{} // nothing is sure
		default:
			s.fields[name] = shapeLocked(field.Type)
		}
	}
}

// fits tells whether a value is sure to be taken.
func (s *shape) fits(value any) bool {
	if s.own == anyShape {
		return true
	}
	switch value := value.(type) {
	case nil:
		return s.kind != reflect.Invalid || s.own != plainShape && s.takes(nil)
	case map[string]any:
		return s.fitsObject(value)
	case []any:
		for _, element := range value {
			if s.kind != reflect.Slice || element == nil || !s.elem.fits(element) {
				return false
			}
		}
		return s.kind == reflect.Slice
	case string:
		return s.kind == reflect.String || s.own != plainShape && s.takes(value)
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
	return s.own == unmarshalerShape && s.takes(value)
}

func (s *shape) fitsObject(object map[string]any) bool {
	if s.own == unmarshalerShape {
		return s.takes(object)
	}
	for name, value := range object {
		member := s.elem
		if s.kind == reflect.Struct {
			member = s.fields[name]
		}
		if member == nil || value == nil && s.kind == reflect.Map || !member.fits(value) {
			return false
		}
	}
	return s.kind == reflect.Struct || s.kind == reflect.Map
}

// takes asks the type itself.
func (s *shape) takes(value any) bool {
	text, isText := value.(string)
	var err error
	switch s.own {
	case base64Shape:
		_, err = base64.StdEncoding.DecodeString(text)
		return err == nil && (isText || value == nil)
	case timeShape:
		if isText {
			_, err = time.Parse(time.RFC3339, text)
		}
		return err == nil && (isText || value == nil)
	}
	encoded, err := json.Marshal(value)
	return err == nil && reflect.New(s.goType).Interface().(json.Unmarshaler).UnmarshalJSON(encoded) == nil
}
