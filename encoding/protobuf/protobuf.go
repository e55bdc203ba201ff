// Package protobuf encodes and decodes the protobuf form of the built-in kinds of Kubernetes, which typed clients in Go use: from the JSON of
// objects, and to the same maps as their JSON form.
package protobuf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"revtail/encoding/codec"
)

// MediaType is the media type of the protobuf form.
const MediaType = "application/vnd.kubernetes.protobuf"

// magic is the prefix of every body.
var magic = []byte("k8s\x00")

// ErrNotProtobuf is the error for a body without the prefix.
var ErrNotProtobuf = errors.New("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")

// UnknownKindError is the error for a kind without a known protobuf form.
type UnknownKindError struct{ Kind schema.GroupVersionKind }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("no kind %.100q is known in protobuf for version %.100q; send JSON", e.Kind.Kind, e.Kind.GroupVersion().String())
}

// kinds are the kinds of Kubernetes, with DeleteOptions and the like in each group.
var kinds = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(kubernetesscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(scheme)) // fails if two types have one name
	return scheme
})

// message is implemented by the types with a protobuf form.
type message interface{ Unmarshal(data []byte) error }

// Decode decodes a body: the magic bytes, and a runtime.Unknown with the protobuf form of its kind. The object has apiVersion and kind,
// and numbers as in jsontext.Unmarshal. The protobuf form does not distinguish null and an empty struct from a missing member: Decode
// omits such members if the kind allows it. It skips unknown fields, because they have no names in protobuf.
//
// The error is ErrNotProtobuf, an *UnknownKindError, a *codec.SyntaxError, a *codec.LimitError or codec.ErrNotUTF8. Decode checks the
// limits of package codec, and of the memory of the messages, before it allocates the object.
func Decode(body []byte) (map[string]any, error) {
	data, ok := bytes.CutPrefix(body, magic)
	if !ok {
		return nil, ErrNotProtobuf
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(data); err != nil {
		return nil, syntaxError(err)
	}
	kind := envelope.GroupVersionKind()
	empty, err := kinds().New(kind)
	typed, ok := empty.(message)
	if err != nil || !ok { // not ok: an internal type of servers
		return nil, &UnknownKindError{Kind: kind}
	}
	object, err := decode(typed, envelope.Raw)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = kind.GroupVersion().String(), kind.Kind
	return object, nil
}

// decode decodes a message into typed, an empty value of its type.
func decode(typed message, data []byte) (map[string]any, error) {
	t := reflect.TypeOf(typed).Elem()
	if err := check(t, data); err != nil {
		return nil, err
	}
	if err := typed.Unmarshal(data); err != nil {
		return nil, syntaxError(err)
	}
	text, err := json.Marshal(typed)
	if err != nil {
		return nil, syntaxError(err)
	}
	decoded, err := codec.Decode(codec.JSON, text)
	if err != nil {
		return nil, err
	}
	prune(t, decoded.Object)
	return decoded.Object, nil
}

func syntaxError(err error) error { return &codec.SyntaxError{Format: "protobuf", Err: err} }

// prune removes the members that Go always writes from value, the JSON of a Go value of type t: null, and empty optional structs. It
// keeps types with their own MarshalJSON, because they have no fields with JSON names. It keeps a null of an optional pointer, such as
// the default of a schema, because Go would have omitted a nil pointer.
func prune(t reflect.Type, value any) {
	switch t.Kind() {
	case reflect.Pointer:
		prune(t.Elem(), value)
	case reflect.Slice:
		list, _ := value.([]any)
		for _, element := range list {
			prune(t.Elem(), element)
		}
	case reflect.Struct:
		if object, ok := value.(map[string]any); ok {
			pruneFields(t, object)
		}
	}
}

func pruneFields(t reflect.Type, object map[string]any) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			pruneFields(field.Type, object)
			continue
		case name == "" || name == "-":
			continue
		}
		value, ok := object[name]
		if !ok {
			continue
		}
		prune(field.Type, value)
		optional, kind := strings.Contains(options, "omitempty"), field.Type.Kind()
		members, isObject := value.(map[string]any)
		isNull := value == nil && !(optional && kind == reflect.Pointer)
		isEmpty := isObject && len(members) == 0 && optional && kind == reflect.Struct
		if isNull || isEmpty {
			delete(object, name)
		}
	}
}
