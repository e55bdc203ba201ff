package protobuf

import (
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding/gotype"
)

// Kind encodes the JSON of objects of one kind in protobuf. There is one Kind for each kind: equal kinds are equal pointers.
type Kind struct {
	typeMeta runtime.TypeMeta
	goType   reflect.Type
	head     []byte         // of an envelope, up to the field of its content
	layout   func() *layout // nil: documents are decoded to the Go type
}

// encoded is implemented by the types that can be encoded.
type encoded interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
}

// kindsFound caches the Kind of a schema.GroupVersionKind. The number of kinds bounds it.
var kindsFound sync.Map

// KindOf returns a kind of objects; nil: it has no protobuf form.
func KindOf(apiVersion, kind string) *Kind {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	if found, ok := kindsFound.Load(gvk); ok {
		return found.(*Kind)
	}
	empty, err := newObject(gvk)
	if _, ok := empty.(encoded); !ok || err != nil {
		return nil // not cached, because the kinds of custom resources come and go
	}
	made := &Kind{typeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, goType: reflect.TypeOf(empty).Elem()}
	made.head = appendEnvelopeStart(nil, made.typeMeta)
	made.layout = sync.OnceValue(func() *layout { return layoutOf(made.goType) })
	found, _ := kindsFound.LoadOrStore(gvk, made)
	return found.(*Kind)
}

// newObject returns an empty object of a kind.
func newObject(gvk schema.GroupVersionKind) (any, error) {
	if isMeta := gvk.GroupVersion() == metav1.SchemeGroupVersion || gvk.GroupVersion() == metav1beta1.SchemeGroupVersion; !isMeta {
		return kinds().New(gvk)
	}
	if gvk.Kind == "PartialObjectMetadata" { // of both versions
		return &metav1.PartialObjectMetadata{}, nil
	}
	return nil, fmt.Errorf("no kind %s", gvk)
}

// AppendObject appends an object: the magic bytes, and a runtime.Unknown with the protobuf form of its kind. Fields of the document that
// the kind does not have are left out. The error says why the document is not of the kind.
func (k *Kind) AppendObject(dst, document []byte) ([]byte, error) {
	if l := k.layout(); l != nil {
		if out, ok := l.appendTo(dst, k, document); ok {
			return out, nil
		}
	}
	return k.appendDecoded(dst, document)
}

// appendDecoded is AppendObject by the Go type of the kind, which knows all documents, and the errors.
func (k *Kind) appendDecoded(dst, document []byte) ([]byte, error) {
	object, err := k.decode(document)
	if err != nil {
		return dst, err
	}
	return appendEnvelope(dst, k.typeMeta, object)
}

// decode decodes a document to the Go type of the kind.
func (k *Kind) decode(document []byte) (encoded, error) {
	object := reflect.New(k.goType).Interface()
	if err := gotype.Unmarshal(document, object); err != nil {
		return nil, err
	}
	return object.(encoded), nil
}

// AppendStatus appends a Status as AppendObject does an object.
func AppendStatus(dst []byte, status *metav1.Status) []byte {
	out, err := appendEnvelope(dst, runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, status)
	if err != nil {
		panic("protobuf: a Status can always be encoded: " + err.Error())
	}
	return out
}

// The fields of runtime.Unknown.
const (
	unknownTypeMeta protowire.Number = iota + 1
	unknownRaw
	unknownContentEncoding
	unknownContentType
)

func appendEnvelope(dst []byte, meta runtime.TypeMeta, object encoded) ([]byte, error) {
	size := object.Size()
	dst = appendEnvelopeHead(dst, meta, size)
	dst, err := appendMessage(dst, object, size)
	return appendEnvelopeTail(dst), err
}

// appendEnvelopeHead appends an envelope up to its content, of a size in bytes.
func appendEnvelopeHead(dst []byte, meta runtime.TypeMeta, size int) []byte {
	return appendField(appendEnvelopeStart(dst, meta), unknownRaw, size)
}

// appendEnvelopeStart appends an envelope up to the field of its content.
func appendEnvelopeStart(dst []byte, meta runtime.TypeMeta) []byte {
	dst = append(dst, magic...)
	dst = appendField(dst, unknownTypeMeta, meta.Size())
	dst, err := appendMessage(dst, &meta, meta.Size())
	if err != nil {
		panic("protobuf: a TypeMeta can always be encoded: " + err.Error())
	}
	return dst
}

// envelopeRest is more than the bytes of an envelope beside its start and its content.
const envelopeRest = 16

// appendEnvelopeTail appends the two empty strings that end an envelope.
func appendEnvelopeTail(dst []byte) []byte {
	return appendField(appendField(dst, unknownContentEncoding, 0), unknownContentType, 0)
}

// contentOf returns the protobuf form of its kind that AppendObject has put into an envelope.
func contentOf(envelope []byte) []byte {
	rest := envelope[len(magic):]
	_, _, size := protowire.ConsumeField(rest) // the kind
	rest = rest[size:]
	_, _, size = protowire.ConsumeTag(rest)
	content, _ := protowire.ConsumeBytes(rest[size:])
	return content
}

// appendField appends the tag and the length of a field.
func appendField(dst []byte, number protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.BytesType), uint64(size))
}

// appendMessage appends a message of a known size.
func appendMessage(dst []byte, message encoded, size int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, size)...)
	_, err := message.MarshalToSizedBuffer(dst[start:])
	return dst, err
}
