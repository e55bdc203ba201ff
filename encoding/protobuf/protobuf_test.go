package protobuf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"

	"revtail/encoding/codec"
	"revtail/encoding/jsontext"
	"revtail/encoding/protobuf"
	"revtail/gateway/api/kinds"
)

// served are empty objects of all kinds that clients send: those of the built-in resources, and those without a resource.
func served() map[schema.GroupVersionKind]runtime.Object {
	out := map[schema.GroupVersionKind]runtime.Object{}
	for _, res := range kinds.Builtin() {
		kind := schema.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}
		out[kind] = reflect.New(reflect.TypeOf(res.GoType)).Interface().(runtime.Object)
	}
	out[authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview")] = &authorizationv1.SelfSubjectAccessReview{}
	out[authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview")] = &authenticationv1.SelfSubjectReview{}
	out[apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")] = &apiextensionsv1.CustomResourceDefinition{}
	out[autoscalingv1.SchemeGroupVersion.WithKind("Scale")] = &autoscalingv1.Scale{}
	for _, version := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "coordination.k8s.io", Version: "v1"}} {
		out[version.WithKind("DeleteOptions")] = &metav1.DeleteOptions{}
	}
	return out
}

// encode encodes an object as clients do.
func encode(tb testing.TB, kind schema.GroupVersionKind, object runtime.Object) []byte {
	tb.Helper()
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kind)
	var body bytes.Buffer
	if err := serializer.NewSerializer(nil, nil).Encode(object, &body); err != nil {
		tb.Fatal(err)
	}
	return body.Bytes()
}

// asJSON returns the object as a client sends it as JSON.
func asJSON(tb testing.TB, kind schema.GroupVersionKind, object runtime.Object) map[string]any {
	tb.Helper()
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := jsontext.Unmarshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// fill sets all fields of a value: lists and maps have one element.
func fill(v reflect.Value) {
	switch special := v.Addr().Interface().(type) {
	case *metav1.Time:
		special.Time = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		return
	case *metav1.MicroTime:
		special.Time = time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.UTC)
		return
	case *apiresource.Quantity:
		*special = apiresource.MustParse("1500m")
		return
	case *intstr.IntOrString:
		*special = intstr.FromString("50%")
		return
	case *runtime.RawExtension:
		special.Raw = []byte(`{"a":"b"}`)
		return
	case *metav1.FieldsV1:
		special.SetRawString(`{"f:data":{".":{},"f:-":{}}}`)
		return
	case *apiextensionsv1.JSONSchemaProps: // contains itself
		special.Type = "object"
		return
	case *metav1.TypeMeta: // the envelope has apiVersion and kind
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("é")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1<<31 - 1)
	case reflect.Uint8:
		v.SetUint(255)
	default:
		panic("no case for type " + v.Type().String())
	}
}

// TestDecodeIsJSON checks that a full object of each kind decodes to the same as its JSON.
func TestDecodeIsJSON(t *testing.T) {
	for kind, object := range served() {
		fill(reflect.ValueOf(object).Elem())
		got, err := protobuf.Decode(encode(t, kind, object))
		if err != nil {
			t.Errorf("%v: %v", kind, err)
			continue
		}
		if diff := cmp.Diff(asJSON(t, kind, object), got); diff != "" {
			t.Errorf("%v (-JSON +protobuf):\n%s", kind, diff)
		}
	}
}

// TestDecodeLosesNothing checks that the fields which are missing in the JSON of an empty object, or of lists with empty elements, have no
// meaning for its type.
func TestDecodeLosesNothing(t *testing.T) {
	for kind, object := range served() {
		for _, hollow := range []bool{false, true} {
			if hollow {
				hollowOut(reflect.ValueOf(object).Elem())
			}
			object.GetObjectKind().SetGroupVersionKind(kind)
			got, err := protobuf.Decode(encode(t, kind, object))
			if err != nil {
				t.Errorf("%v: %v", kind, err)
				continue
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte("null")) {
				t.Errorf("%v has a null: %s", kind, text)
			}
			back := reflect.New(reflect.TypeOf(object).Elem()).Interface()
			if err := json.Unmarshal(text, back); err != nil || !equality.Semantic.DeepEqual(object, back) {
				t.Errorf("%v: %v %s\n%s", kind, err, text, cmp.Diff(object, back))
			}
		}
	}
}

// hollowOut sets everything optional to an empty value.
func hollowOut(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *metav1.Time, *metav1.MicroTime, *metav1.FieldsV1, *metav1.TypeMeta, *apiresource.Quantity, *apiextensionsv1.JSONSchemaProps, *runtime.RawExtension:
		fill(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		hollowOut(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			hollowOut(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			hollowOut(v.Index(0))
		}
	}
}

// TestDecodeLeavesOut checks that the JSON has no null and nothing empty unless its writer has set it.
func TestDecodeLeavesOut(t *testing.T) {
	for _, tt := range []struct{ name, kind, written, want string }{
		{"nothing", "Pod", `{}`, `{}`},
		{"status and creationTimestamp", "Pod", `{"metadata":{"name":"a","creationTimestamp":null},"spec":{},"status":{}}`, `{"metadata":{"name":"a"}}`},
		{"nested", "Service", `{"spec":{"ports":[{"port":80}]},"status":{"loadBalancer":{}}}`, `{"spec":{"ports":[{"port":80,"targetPort":0}]}}`},
		{"lists", "Pod", `{"spec":{"containers":[{"name":"a","resources":{}}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`},
		{"pointer", "Pod", `{"spec":{"containers":[],"securityContext":{},"volumes":[{"name":"a","emptyDir":{}}]}}`,
			`{"spec":{"securityContext":{},"volumes":[{"name":"a","emptyDir":{}}]}}`},
		{"map", "ConfigMap", `{"data":{"a":""},"binaryData":{"b":""}}`, `{"data":{"a":""},"binaryData":{"b":""}}`},
		{"event without times", "Event", `{"involvedObject":{},"message":"m"}`, `{"metadata":{},"involvedObject":{},"message":"m","reportingComponent":"","reportingInstance":""}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind := schema.GroupVersionKind{Version: "v1", Kind: tt.kind}
			object := served()[kind].DeepCopyObject()
			if err := json.Unmarshal([]byte(tt.written), object); err != nil {
				t.Fatal(err)
			}
			got, err := protobuf.Decode(encode(t, kind, object))
			if err != nil {
				t.Fatal(err)
			}
			want, err := jsontext.Unmarshal([]byte(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			want["apiVersion"], want["kind"] = "v1", tt.kind
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// envelope returns a body of a kind with content.
func envelope(tb testing.TB, apiVersion, kind string, raw []byte) []byte {
	tb.Helper()
	data, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}).Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return append([]byte("k8s\x00"), data...)
}

func TestDecodeRefuses(t *testing.T) {
	lease := schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	invalid := encode(t, lease, &metav1.DeleteOptions{})
	syntaxError := func(err error) bool { _, ok := errors.AsType[*codec.SyntaxError](err); return ok }
	limitError := func(err error) bool { _, ok := errors.AsType[*codec.LimitError](err); return ok }
	unknownKind := func(err error) bool { _, ok := errors.AsType[*protobuf.UnknownKindError](err); return ok }
	notProtobuf := func(err error) bool { return errors.Is(err, protobuf.ErrNotProtobuf) }
	notUTF8 := func(err error) bool { return errors.Is(err, codec.ErrNotUTF8) }
	podSpec := func(spec string) []byte { // field 2 of a Pod
		return envelope(t, "v1", "Pod", append(append([]byte{0x12}, varint(len(spec))...), spec...))
	}
	many := corev1.ConfigMap{Data: map[string]string{}}
	for i := range codec.MaxTokens / 2 {
		many.Data[strconv.Itoa(i)] = ""
	}
	for _, tt := range []struct {
		name string
		body []byte
		is   func(error) bool
		text string // the whole error, or empty
	}{
		{"empty", nil, notProtobuf, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"},
		{"JSON", []byte(`{"kind":"Lease"}`), notProtobuf, ""},
		{"no envelope", []byte("k8s\x00"), unknownKind, ""},
		{"bad envelope", []byte("k8s\x00\xff"), syntaxError, ""},
		{"no kind", envelope(t, "v1", "", nil), unknownKind, ""},
		{"unknown kind", envelope(t, "example.com/v1", "Widget", nil), unknownKind, `no kind "Widget" is known in protobuf for version "example.com/v1"; send JSON`},
		{"a kind of servers", envelope(t, "__internal", "WatchEvent", nil), unknownKind,
			`no kind "WatchEvent" is known in protobuf for version "__internal"; send JSON`},
		{"truncated", invalid[:len(invalid)-1], syntaxError, ""},
		{"garbage", envelope(t, "v1", "Pod", []byte("garbage")), syntaxError, ""},
		{"wrong type of a field", envelope(t, "v1", "Pod", []byte{0x0d, 0, 0, 0, 0}), syntaxError, ""},
		{"JSON inside", envelope(t, "v1", "Pod", []byte(`{"kind":"Pod"}`)), syntaxError, ""},
		{"not UTF-8", envelope(t, "v1", "ConfigMap", []byte{0x12, 3, 0x0a, 1, 0xff}), notUTF8, "the body is not valid UTF-8"},
		{"bad quantity", envelope(t, "v1", "Node", []byte{0x1a, 8, 0x0a, 6, 0x12, 4, 0x0a, 2, 'x', 'x'}), syntaxError, ""},
		{"many containers", podSpec(strings.Repeat("\x12\x00", 1<<20)), limitError, "the body has more than 16777216 bytes when decoded"},
		{"many entries", envelope(t, "v1", "ConfigMap", bytes.Repeat([]byte{0x12, 0}, 1<<20)), limitError, ""},
		{"many strings", envelope(t, "v1", "Namespace", append([]byte{0x12, 0x80, 0x80, 0x80, 1}, bytes.Repeat([]byte{0x0a, 0}, 1<<20)...)), limitError, ""},
		{"many tokens", encode(t, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, &many), limitError, "the body has more than 100000 tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := protobuf.Decode(tt.body)
			if err == nil || !tt.is(err) || tt.text != "" && err.Error() != tt.text {
				t.Errorf("error %v, want %q", err, tt.text)
			}
		})
	}
}

// TestDecodeIsBounded checks that Decode allocates almost no memory for a large body that it refuses.
func TestDecodeIsBounded(t *testing.T) {
	body := envelope(t, "v1", "Pod", append([]byte{0x12, 0x80, 0x80, 0x80, 1}, bytes.Repeat([]byte{0x12, 0}, 1<<20)...))
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := protobuf.Decode(body); err == nil {
			t.Fatal("the body is accepted")
		}
	})
	if allocations > 20 {
		t.Errorf("%v allocations", allocations)
	}
}

func varint(n int) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// TestDecodeSkipsUnknownFields checks that an object with fields of a newer client is accepted.
func TestDecodeSkipsUnknownFields(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	raw, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := protobuf.Decode(envelope(t, "v1", "ConfigMap", append(raw, 0xfa, 0x3e, 2, 0xff, 0xff)))
	if diff := cmp.Diff(asJSON(t, kind, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// definition has a schema with nested schemas, and all types that encode their own JSON.
func definition(depth int) *apiextensionsv1.CustomResourceDefinition {
	schema := apiextensionsv1.JSONSchemaProps{Type: "string", Nullable: true, Default: &apiextensionsv1.JSON{Raw: []byte(`null`)},
		Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`{"b":[1,null]}`)}}}
	for range depth {
		schema = apiextensionsv1.JSONSchemaProps{Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte(`null`)},
			Properties:           map[string]apiextensionsv1.JSONSchemaProps{"inner": schema, "list": {Items: &apiextensionsv1.JSONSchemaPropsOrArray{}}},
			AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
		}}},
	}
}

// TestDecodeDefinitions checks that definitions of custom resources, whose types contain themselves, are decoded up to a depth.
func TestDecodeDefinitions(t *testing.T) {
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	want := asJSON(t, kind, definition(3))
	want["status"] = map[string]any{"acceptedNames": map[string]any{"plural": "", "kind": ""}} // its lists are null
	got, err := protobuf.Decode(encode(t, kind, definition(3)))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-JSON +protobuf):\n%s", err, diff)
	}
	_, err = protobuf.Decode(encode(t, kind, definition(200)))
	if limit, ok := errors.AsType[*codec.LimitError](err); !ok || limit.What != "levels of nesting" {
		t.Errorf("200 levels: %v", err)
	}
}
