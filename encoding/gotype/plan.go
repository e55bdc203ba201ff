package gotype

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"revtail/encoding/jsontext"
)

// plan converts values of one Go type.
type plan struct {
	decode func(from any, into reflect.Value) bool // into is zero, and from is no null; false: from is no value of the type, or an unusual one
	encode func(from reflect.Value) (any, error)
	scan   scanFunc
}

// scanFunc sets a zero value to the JSON that comes next, which is no null. It returns false for what is no value of the type, or an unusual one.
type scanFunc func(s *jsontext.Scanner, into reflect.Value) bool

// member is a field of a struct, or one of a struct that is embedded in it.
type member struct {
	name  string
	index []int
	plan  *plan
	omit  func(reflect.Value) bool // nil: the member is in every object
	empty func() any               // instead of null; nil: null
}

// plans are the compiled ones.
var plans sync.Map // of *plan, by reflect.Type

// planOf returns the plan of a type, which the first call compiles.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	compiled := compiler{}
	p := compiled.plan(t)
	for t, p := range compiled {
		plans.LoadOrStore(t, p)
	}
	return p
}

// compiler compiles the plan of a type and those of the types in it, which may contain the type itself.
type compiler map[reflect.Type]*plan

func (c compiler) plan(t reflect.Type) *plan {
	if p, ok := c[t]; ok {
		return p
	}
	p := &plan{}
	c[t] = p
	c.compile(p, t)
	if entry := value.TypeReflectEntryOf(t); entry.CanConvertToUnstructured() {
		p.encode = entry.ToUnstructured
	}
	switch t {
	case reflect.TypeFor[metav1.Time]():
		p.decode, p.encode, p.scan = decodeTime, encodeTime, scanTime
	case reflect.TypeFor[resource.Quantity]():
		p.decode, p.scan = decodeQuantity, scanQuantity
	case reflect.TypeFor[intstr.IntOrString]():
		p.decode = decodeIntOrString
	}
	return p
}

// compile sets the functions of a plan. A type that decodes itself does so, except for one of a simple kind.
func (c compiler) compile(p *plan, t reflect.Type) {
	if p.ofSimpleKind(t.Kind()) {
		return
	}
	switch entry := value.TypeReflectEntryOf(t); t.Kind() {
	case reflect.Pointer:
		elem := c.plan(t.Elem())
		p.decode, p.encode, p.scan = decodePointer(elem, t.Elem()), encodePointer(elem), scanPointer(elem, t.Elem())
	case reflect.Struct:
		if entry.CanConvertFromUnstructured() {
			p.decode, p.scan = decodeItself(entry), scanItself
			return
		}
		if members, ok := c.members(t, nil); ok {
			p.decode, p.encode, p.scan = decodeStruct(members), encodeStruct(members), scanStruct(members)
			return
		}
		p.decode, p.encode, p.scan = decodeByJSON, encodeByJSON, scanByJSON
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			p.decode, p.encode, p.scan = decodeByJSON, encodeByJSON, scanByJSON
			return
		}
		elem := c.plan(t.Elem())
		p.decode, p.encode, p.scan = decodeMap(elem, t), encodeMap(elem), scanMap(elem, t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			p.decode, p.encode, p.scan = decodeBytes, encodeBytes, scanBytes
			break
		}
		elem := c.plan(t.Elem())
		p.decode, p.encode, p.scan = decodeSlice(elem, t), encodeSlice(elem), scanSlice(elem, t)
	default:
		p.decode, p.encode, p.scan = decodeByJSON, encodeByJSON, scanByJSON
	}
	if entry := value.TypeReflectEntryOf(t); t.Kind() != reflect.Pointer && entry.CanConvertFromUnstructured() {
		p.decode, p.scan = decodeItself(entry), scanItself
	}
}

// ofSimpleKind sets the functions for a string, a boolean or a number.
func (p *plan) ofSimpleKind(kind reflect.Kind) bool {
	switch kind {
	case reflect.String:
		p.decode, p.encode, p.scan = decodeString, encodeString, scanString
	case reflect.Bool:
		p.decode, p.encode, p.scan = decodeBool, encodeBool, scanBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.decode, p.encode, p.scan = decodeInt, encodeInt, scanInt
	case reflect.Float32, reflect.Float64:
		p.decode, p.encode, p.scan = decodeFloat, encodeFloat, scanByJSON
	default:
		return false
	}
	return true
}

// members returns the members of a struct that is at an index of another one. It returns false if two have the same name.
func (c compiler) members(t reflect.Type, at []int) (map[string]*member, bool) {
	members := map[string]*member{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		index := append(at[:len(at):len(at)], i)
		switch {
		case name == "-":
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			embedded, ok := c.members(field.Type, index)
			if !ok {
				return nil, false
			}
			for name, m := range embedded {
				if members[name] != nil {
					return nil, false
				}
				members[name] = m
			}
		case !field.IsExported(), name == "", members[name] != nil:
			return nil, false
		default:
			members[name] = c.member(field, name, index, strings.Split(options, ","))
		}
	}
	return members, true
}

// member returns a member with the options of its tag.
func (c compiler) member(field reflect.StructField, name string, index []int, options []string) *member {
	m := &member{name: name, index: index, plan: c.plan(field.Type)}
	if simple := (&plan{}); simple.ofSimpleKind(field.Type.Kind()) {
		m.plan = simple // also if the type encodes itself, as DefaultUnstructuredConverter does
	}
	for _, option := range options {
		switch {
		case option == "omitempty" && m.omit == nil:
			m.omit = isEmpty
		case option == "omitzero":
			m.omit = value.OmitZeroFunc(field.Type)
		}
	}
	switch entry := value.TypeReflectEntryOf(field.Type); {
	case entry.CanConvertToUnstructured():
	case field.Type.Kind() == reflect.Map:
		m.empty = func() any { return map[string]any{} }
	case field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() != reflect.Uint8:
		m.empty = func() any { return []any{} }
	}
	return m
}

// isEmpty reports whether a member with the option omitempty is left out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct, reflect.Array:
		return false
	}
	return v.IsZero()
}
