package protobuf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// layout says how the JSON of a struct becomes its protobuf form. It is compiled once for each Go type.
type layout struct {
	fields  []field // in the order of their numbers, in which generated code writes them
	members map[string]member
	zero    []byte // the form of a zero value
}

// field is a field of a message.
type field struct {
	name    string // of the Go field
	tag     []byte // the number and the wire type
	absent  []byte // what is written without a member in JSON: generated code omits optional fields and empty lists, and nothing else
	form    form
	repeats repetition
	message *layout      // of a formMessage
	custom  reflect.Type // of a formCustom
	bits    int          // of a formNumber
}

// form is what one value of a field is in JSON and in protobuf.
type form uint8

const (
	formText form = iota
	formBytes
	formNumber
	formBool
	formMessage
	formTime
	formFields // metav1.FieldsV1: its JSON, in a message of one field
	formCustom // a type with an UnmarshalJSON, which decodes and encodes itself
)

// repetition is how many values a field has.
type repetition uint8

const (
	once repetition = iota
	list
	dictionary
)

// member says which field a member of JSON is.
type member struct {
	path     []int // the fields of the structs that are embedded in each other and that have it: empty for a field of the struct itself
	field    int
	typeMeta bool // it is apiVersion or kind, a text that is not in the form of an object
}

// layouts has the compiled *layout of a reflect.Type. The number of types bounds it.
var layouts sync.Map

// layoutOf returns the layout of a struct; nil: it or a type in it has fields that no layout describes, such as floating-point numbers.
func layoutOf(t reflect.Type) *layout {
	c := compiler{}
	l, err := c.layout(t)
	if err != nil {
		return nil
	}
	for t, l := range c {
		layouts.LoadOrStore(t, l)
	}
	return l
}

// compiler has the layouts of a type and of those in it, which may contain the type itself.
type compiler map[reflect.Type]*layout

func (c compiler) layout(t reflect.Type) (*layout, error) {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout), nil
	}
	if l, ok := c[t]; ok {
		return l, nil
	}
	l := &layout{members: map[string]member{}}
	c[t] = l
	empty, ok := reflect.New(t).Interface().(encoded)
	if !ok {
		return nil, fmt.Errorf("%v has no protobuf form", t)
	}
	var err error
	if l.zero, err = appendMessage(nil, empty, empty.Size()); err != nil {
		return nil, err
	}
	numbers := map[string]protowire.Number{}
	for i := range t.NumField() {
		if err = c.add(l, t.Field(i), numbers); err != nil {
			return nil, fmt.Errorf("%v: %w", t, err)
		}
	}
	slices.SortFunc(l.fields, func(a, b field) int { return cmp.Compare(numbers[a.name], numbers[b.name]) })
	return l, l.name(t)
}

// add adds a field, and writes down its number.
func (c compiler) add(l *layout, of reflect.StructField, numbers map[string]protowire.Number) error {
	if of.Type == reflect.TypeFor[metav1.TypeMeta]() {
		return nil
	}
	tag := strings.Split(of.Tag.Get("protobuf"), ",") // "bytes,8,opt,name=labels"
	if len(tag) < 2 {
		return fmt.Errorf("%s has no number", of.Name)
	}
	number, err := strconv.Atoi(tag[1])
	if err != nil || slices.Contains(tag, "packed") {
		return fmt.Errorf("%s is %s", of.Name, tag)
	}
	f := field{name: of.Name}
	if err = c.describe(&f, of.Type); err != nil {
		return fmt.Errorf("%s: %w", of.Name, err)
	}
	wire := protowire.BytesType // by the Go type, because the tags of some booleans and numbers have the wrong type
	if f.repeats != dictionary && (f.form == formNumber || f.form == formBool) {
		wire = protowire.VarintType
	}
	f.tag = protowire.AppendTag(nil, protowire.Number(number), wire) //nolint:gosec // a number of a field
	if isRequired(of.Type) {
		if f.absent, err = f.zero(); err != nil {
			return err
		}
	}
	numbers[of.Name] = protowire.Number(number) //nolint:gosec // as above
	l.fields = append(l.fields, f)
	return nil
}

// isRequired reports whether generated code writes a zero value of a type.
func isRequired(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Slice && t.Kind() != reflect.Map
}

// describe sets what a field of a type is.
func (c compiler) describe(f *field, t reflect.Type) error {
	switch {
	case isMessage(t) && t.Kind() != reflect.Struct:
		return fmt.Errorf("%v is a message of its own", t)
	case t.Kind() == reflect.Pointer:
		t = t.Elem()
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		f.form = formBytes
		return nil
	case t.Kind() == reflect.Slice:
		f.repeats, t = list, t.Elem()
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		f.repeats, t = dictionary, t.Elem()
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			f.form = formBytes
			return nil
		}
	}
	return c.element(f, t)
}

// element sets what one value of a field is.
func (c compiler) element(f *field, t reflect.Type) (err error) {
	_, custom := reflect.New(t).Interface().(json.Unmarshaler)
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[metav1.Time]():
		f.form = formTime
	case t == reflect.TypeFor[metav1.FieldsV1]():
		f.form = formFields
	case custom && kind == reflect.Struct:
		f.form, f.custom = formCustom, t
		if _, ok := reflect.New(t).Interface().(encoded); !ok {
			return fmt.Errorf("%v has no protobuf form", t)
		}
	case custom:
		return fmt.Errorf("%v decodes itself", t)
	case kind == reflect.Struct:
		f.form = formMessage
		f.message, err = c.layout(t)
	case kind == reflect.String:
		f.form = formText
	case kind == reflect.Bool:
		f.form = formBool
	case kind == reflect.Int32, kind == reflect.Int64:
		f.form, f.bits = formNumber, t.Bits()
	default:
		return fmt.Errorf("no layout describes %v", t)
	}
	return err
}

// zero returns a field with a zero value.
func (f *field) zero() ([]byte, error) {
	content := []byte(nil)
	switch f.form {
	case formMessage:
		content = f.message.zero
	case formCustom:
		empty := reflect.New(f.custom).Interface().(encoded)
		var err error
		if content, err = appendMessage(nil, empty, empty.Size()); err != nil {
			return nil, err
		}
	case formText, formBytes, formNumber, formBool, formTime, formFields:
	}
	return protowire.AppendBytes(slices.Clone(f.tag), content), nil // the number 0 is written like the size of an empty text
}

// name sets the members of the layout of a struct.
func (l *layout) name(t reflect.Type) error {
	for i := range t.NumField() {
		of := t.Field(i)
		name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
		switch {
		case of.Type == reflect.TypeFor[metav1.TypeMeta]():
			l.members["apiVersion"], l.members["kind"] = member{typeMeta: true}, member{typeMeta: true}
			continue
		case name == "-" || name == "" && !of.Anonymous || of.Anonymous && name == "" && of.Type.Kind() != reflect.Struct:
			return fmt.Errorf("%s has no name in JSON", of.Name)
		}
		at := slices.IndexFunc(l.fields, func(f field) bool { return f.name == of.Name })
		if name != "" {
			if err := l.addMember(name, member{field: at}); err != nil {
				return err
			}
			continue
		}
		inner := l.fields[at].message
		if inner == nil {
			return fmt.Errorf("%s is embedded, and no message", of.Name)
		}
		for name, m := range inner.members {
			if err := l.addMember(name, member{path: append([]int{at}, m.path...), field: m.field, typeMeta: m.typeMeta}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *layout) addMember(name string, m member) error {
	if _, ok := l.members[name]; ok {
		return fmt.Errorf("two fields have the name %s", name)
	}
	l.members[name] = m
	return nil
}
