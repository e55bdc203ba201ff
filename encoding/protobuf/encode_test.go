package protobuf_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kubernetesscheme "k8s.io/client-go/kubernetes/scheme"

	"revtail/encoding/protobuf"
)

// documentOf returns the JSON of an object of a kind.
func documentOf(tb testing.TB, kind schema.GroupVersionKind, object runtime.Object) []byte {
	tb.Helper()
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func kindOf(tb testing.TB, gvk schema.GroupVersionKind) *protobuf.Kind {
	tb.Helper()
	kind := protobuf.KindOf(gvk.GroupVersion().String(), gvk.Kind)
	if kind == nil {
		tb.Fatalf("%v has no protobuf form", gvk)
	}
	return kind
}

// TestEncodeIsTheLibrarys checks that objects have the bytes that the library of Kubernetes writes, empty and with every field.
func TestEncodeIsTheLibrarys(t *testing.T) {
	for gvk, object := range served() {
		for _, filled := range []bool{false, true} {
			if filled {
				fill(reflect.ValueOf(object).Elem())
			}
			got, err := kindOf(t, gvk).AppendObject([]byte("before"), documentOf(t, gvk, object))
			if want := append([]byte("before"), encode(t, gvk, object)...); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v, filled %t: error %v\n%q, want\n%q", gvk, filled, err, got, want)
			}
		}
	}
}

// TestListIsTheLibrarys checks the same of lists with any number of items, in several pieces.
func TestListIsTheLibrarys(t *testing.T) {
	remaining := int64(7)
	meta := metav1.ListMeta{ResourceVersion: "42", Continue: "next", RemainingItemCount: &remaining}
	lists := 0
	for gvk, object := range served() {
		empty, err := listOf(gvk)
		if err != nil {
			continue // reviews and options
		}
		lists++
		fill(reflect.ValueOf(object).Elem())
		document := documentOf(t, gvk, object)
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		for _, count := range []int{0, 1, 60} {
			list := reflect.ValueOf(empty).Elem()
			list.FieldByName("ListMeta").Set(reflect.ValueOf(meta))
			items := list.FieldByName("Items")
			items.SetZero()
			got := protobuf.NewList(kindOf(t, gvk), 1)
			for range count {
				items.Set(reflect.Append(items, reflect.ValueOf(object).Elem()))
				got.Add(messageOf(t, gvk, document))
			}
			if err := got.Finish(gvk.Kind+"List", meta); err != nil {
				t.Fatal(err)
			}
			want := encode(t, gvk.GroupVersion().WithKind(gvk.Kind+"List"), empty)
			if joined := join(got); !bytes.Equal(joined, want) || len(joined) != got.Size() {
				t.Errorf("%v with %d items differs, size %d of %d", gvk, count, got.Size(), len(joined))
			}
		}
	}
	if lists < 40 {
		t.Errorf("%d lists compared", lists)
	}
}

func join(list *protobuf.List) (whole []byte) {
	for piece := range list.Pieces() {
		whole = append(whole, piece...)
	}
	return whole
}

func listOf(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if gvk.Group == apiextensionsv1.GroupName {
		return &apiextensionsv1.CustomResourceDefinitionList{}, nil
	}
	return kubernetesscheme.Scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
}

func messageOf(tb testing.TB, gvk schema.GroupVersionKind, document []byte) []byte {
	tb.Helper()
	message, err := kindOf(tb, gvk).AppendObject(nil, document)
	if err != nil {
		tb.Fatal(err)
	}
	return message
}

// TestMetadataIsTheLibrarys checks metadata in both versions, whose lists number their fields differently.
func TestMetadataIsTheLibrarys(t *testing.T) {
	item := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "b", "c": "d"}}}
	meta := metav1.ListMeta{ResourceVersion: "42"}
	for version, want := range map[schema.GroupVersion]runtime.Object{
		metav1.SchemeGroupVersion:      &metav1.PartialObjectMetadataList{ListMeta: meta, Items: []metav1.PartialObjectMetadata{item}},
		metav1beta1.SchemeGroupVersion: &metav1beta1.PartialObjectMetadataList{ListMeta: meta, Items: []metav1.PartialObjectMetadata{item}},
	} {
		gvk := version.WithKind("PartialObjectMetadata")
		document := documentOf(t, gvk, &item)
		got, err := kindOf(t, gvk).AppendObject(nil, document)
		if err != nil || !bytes.Equal(got, encode(t, gvk, &item)) {
			t.Errorf("%v: %v, %q", gvk, err, got)
		}
		list := protobuf.NewList(kindOf(t, gvk), 1)
		list.Add(got)
		if err := list.Finish("PartialObjectMetadataList", meta); err != nil {
			t.Fatal(err)
		}
		if got := join(list); !bytes.Equal(got, encode(t, version.WithKind("PartialObjectMetadataList"), want)) {
			t.Errorf("list of %v: %q", gvk, got)
		}
	}
}

// TestFramesAreTheLibrarys checks that a frame is an event as the library writes it, behind its length.
func TestFramesAreTheLibrarys(t *testing.T) {
	status := &metav1.Status{Status: "Failure", Code: 410, Details: &metav1.StatusDetails{RetryAfterSeconds: 1}}
	for _, object := range [][]byte{nil, []byte("k"), bytes.Repeat([]byte("object"), 100), bytes.Repeat([]byte("object"), 10_000), protobuf.AppendStatus(nil, status)} {
		var want bytes.Buffer
		stream := serializer.LengthDelimitedFramer.NewFrameWriter(&want)
		event := &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: append([]byte{}, object...)}}
		var encoded bytes.Buffer
		if err := serializer.NewRawSerializer(nil, nil).Encode(event, &encoded); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Write(encoded.Bytes()); err != nil {
			t.Fatal(err)
		}
		got := protobuf.AppendFrame([]byte("before"), "MODIFIED", object)[len("before"):]
		if !bytes.Equal(got, want.Bytes()) || !bytes.Equal(protobuf.AppendEvent(nil, "MODIFIED", object), got[4:]) || int(binary.BigEndian.Uint32(got)) != len(got)-4 {
			t.Errorf("an object of %d bytes: %q, want %q", len(object), got, want.Bytes())
		}
	}
	if want := encode(t, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, status); !bytes.Equal(protobuf.AppendStatus(nil, status), want) {
		t.Errorf("a Status is not %q", want)
	}
}

// TestEncodeRefuses checks that a document of another kind is an error, and that unknown fields are left out.
func TestEncodeRefuses(t *testing.T) {
	pod := kindOf(t, schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	for _, document := range []string{`{"spec":"none"}`, `{"metadata":{"labels":{"a":1}}}`, `{"spec":{"containers":{}}}`, `[]`, `{`, ``, `{"metadata":{"creationTimestamp":"noon"}}`} {
		if got, err := pod.AppendObject([]byte("x"), []byte(document)); err == nil || string(got) != "x" {
			t.Errorf("%s: %q, %v", document, got, err)
		}
	}
	known, err1 := pod.AppendObject(nil, []byte(`{"metadata":{"name":"a"},"spec":{"nodeName":"b"}}`))
	more, err2 := pod.AppendObject(nil, []byte(`{"Metadata":{"name":"c"},"metadata":{"name":"a","none":[]},"spec":{"nodeName":"b","none":{"none":1}},"none":null}`))
	if err1 != nil || err2 != nil || !bytes.Equal(known, more) {
		t.Errorf("%v, %v: %q, want %q", err1, err2, more, known)
	}
	for _, kind := range []string{"Widget", "Table", "WatchEvent2", ""} {
		if protobuf.KindOf("v1", kind) != nil || protobuf.KindOf("meta.k8s.io/v1", kind) != nil {
			t.Errorf("%q has a protobuf form", kind)
		}
	}
}

// FuzzEncode checks that whatever is encoded is decoded to what Go reads from the document.
func FuzzEncode(f *testing.F) {
	var all []schema.GroupVersionKind
	for gvk := range served() {
		all = append(all, gvk)
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	objects := served()
	for i, gvk := range all {
		f.Add(i, documentOf(f, gvk, objects[gvk]))
		fill(reflect.ValueOf(objects[gvk]).Elem())
		f.Add(i, documentOf(f, gvk, objects[gvk]))
	}
	f.Fuzz(func(t *testing.T, i int, document []byte) {
		gvk := all[uint(i)%uint(len(all))]
		kind := kindOf(t, gvk)
		message, err := kind.AppendObject(nil, document)
		if err != nil {
			return
		}
		var unknown runtime.Unknown
		if err := unknown.Unmarshal(message[4:]); err != nil || unknown.GroupVersionKind() != gvk {
			t.Fatalf("%v: %v", unknown.TypeMeta, err)
		}
		decoded := reflect.New(reflect.TypeOf(objects[gvk]).Elem()).Interface().(interface {
			runtime.Object
			Unmarshal(data []byte) error
		})
		if err := decoded.Unmarshal(unknown.Raw); err != nil {
			t.Fatal(err)
		}
		if again := encode(t, gvk, decoded); !bytes.Equal(again, message) {
			t.Errorf("%q is decoded to another object: %q", message, again)
		}
	})
}
