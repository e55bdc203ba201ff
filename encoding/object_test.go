package encoding

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding/jsontext"
)

var pod = Identity{APIVersion: "v1", Kind: "Pod", Namespace: "eu", Name: "web"}

func TestNormalize(t *testing.T) {
	node := Identity{APIVersion: "v1", Kind: "Node", Name: "n1"}
	const head = `{"kind":"Pod","apiVersion":"v1",`
	const web = head + `"metadata":{"resourceVersion":"7","name":"web","namespace":"eu"}`
	tests := []struct {
		name  string
		value string
		id    Identity
		want  string
		label map[string]string
	}{
		{name: "stored", id: pod, value: head + `"metadata":{"name":"web","namespace":"eu"},"spec":{"a":[1,{}]}}`, want: web + `,"spec":{"a":[1,{}]}}`},
		{
			name: "uid and labels", id: pod,
			value: head + `"metadata":{"name":"web","namespace":"eu","uid":"u1","labels":{"app":"a\"b","\u0061":""}}}`,
			want:  head + `"metadata":{"resourceVersion":"7","name":"web","namespace":"eu","uid":"u1","labels":{"app":"a\"b","\u0061":""}}}`,
			label: map[string]string{"app": `a"b`, "a": ""},
		},
		{
			name: "without a namespace", id: node,
			value: `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`,
			want:  `{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"n1"}}`,
		},
		{
			name: "a namespace too many", id: node,
			value: `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","namespace":"eu"}}`,
			want:  `{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"n1"}}`,
		},
		{
			name: "a label twice", id: pod,
			value: head + `"metadata":{"name":"web","namespace":"eu","labels":{"a":"1","a":"2"}}}`,
			want:  head + `"metadata":{"resourceVersion":"7","name":"web","namespace":"eu","labels":{"a":"1","a":"2"}}}`,
			label: map[string]string{"a": "2"},
		},
		{
			name: "a label null", id: pod,
			value: head + `"metadata":{"name":"web","namespace":"eu","labels":{"a":null,"b":"x"}}}`,
			want:  head + `"metadata":{"resourceVersion":"7","name":"web","namespace":"eu","labels":{"a":"","b":"x"}}}`,
			label: map[string]string{"a": "", "b": "x"},
		},
		{name: "empty", id: pod, value: `{}`, want: web + `}`},
		{name: "metadata null", id: pod, value: `{"metadata":null}`, want: web + `}`},
		{name: "pretty-printed", id: pod, value: "{\n  \"spec\": {\"b\": 1, \"a\": 2},\n  \"metadata\": {\"labels\": {\"l\": \"x\"}}\n}\n",
			want:  head + `"spec":{"b":1,"a":2},"metadata":{"resourceVersion":"7","name":"web","namespace":"eu","labels":{"l":"x"}}}`,
			label: map[string]string{"l": "x"}},
		{
			name: "the key overrides the metadata", id: pod,
			value: `{"apiVersion":"v2","kind":5,"metadata":{"name":"db","uid":null,"namespace":"us","labels":null}}`,
			want:  `{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"7","name":"web","uid":null,"namespace":"eu","labels":null}}`,
		},
		{name: "resourceVersion present", id: pod, value: head + `"metadata":{"name":"web","namespace":"eu","resourceVersion":"3"}}`, want: web + `}`},
		{name: "duplicate member", id: pod, value: head + `"metadata":{"name":"web","name":"web","namespace":"eu"}}`, want: web + `}`},
		{name: "duplicate metadata", id: pod, value: head + `"metadata":{"uid":"u1"},"metadata":{}}`, want: web + `}`},
		{name: "escaped member name", id: pod, value: head + `"m\u0065tadata":{"name":"web","namespace":"eu"}}`, want: web + `}`},
		{name: "line ends in strings", id: pod, value: web[:len(head)] + "\"metadata\":{\"name\":\"web\",\"namespace\":\"eu\"},\"a\":\"\u2028…\u2029\"}",
			want: web + `,"a":"\u2028…\u2029"}`},
		{name: "numbers stay", id: pod, value: head + `"a":[1.0, 1e2, 18446744073709551616, 0.1000000000000000055], "metadata":{"name":"web","namespace":"eu"}}`,
			want: head + `"a":[1.0,1e2,18446744073709551616,0.1000000000000000055],"metadata":{"resourceVersion":"7","name":"web","namespace":"eu"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Normalize([]byte(tt.value), tt.id, 7)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.JSON)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
			expectLabels(t, got.Labels(), tt.label)
		})
	}
}

// expectLabels reads the labels one by one.
func expectLabels(t *testing.T, got Labels, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if text, found := got.Lookup(name); !found || text != value || got.Get(name) != value || !got.Has(name) {
			t.Errorf("the label %q is %q, %t, want %q", name, text, found, value)
		}
	}
	all := map[string]string{}
	if len(got) > 0 {
		if err := json.Unmarshal(got, &all); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
	}
	if len(all) != len(want) {
		t.Errorf("the labels are %s, want %v", got, want)
	}
	for _, name := range []string{"none", ""} {
		if _, ok := want[name]; !ok && (got.Has(name) || got.Get(name) != "") {
			t.Errorf("there is a label %q in %s", name, got)
		}
	}
}

func TestNormalizeRefuses(t *testing.T) {
	tests := []struct{ value, want string }{
		{``, "not JSON: unexpected end of JSON input"},
		{`hello`, "not JSON: invalid character 'h' looking for beginning of value"},
		{`{} {}`, "not JSON: invalid character '{' after top-level value"},
		{"{\"a\":\"\xff\"}", "not valid UTF-8"},
		{`[1]`, "not a JSON object"},
		{`null`, "not a JSON object"},
		{`"text"`, "not a JSON object"},
		{`{"metadata":[]}`, "metadata is not an object"},
		{`{"metadata":{"labels":"x"}}`, "metadata.labels is not an object"},
		{`{"metadata":{"labels":{"a":1}}}`, "metadata.labels has a value that is not a string"},
		{`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"eu","uid":5}}`, "metadata.uid is not a string"},
		{`{"metadata":{"annotations":{"a":1e400}}}`, "not JSON: cannot unmarshal number 1e400 into Go value of type float64"},
		{strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "not JSON: invalid character '[' exceeded max depth"},
	}
	for _, tt := range tests {
		_, err := Normalize([]byte(tt.value), pod, 7)
		if _, ok := errors.AsType[*jsontext.DecodeError](err); !ok || err.Error() != tt.want {
			t.Errorf("%.40q: error %v, want %q", tt.value, err, tt.want)
		}
	}
}

// TestNormalizeAllocates checks how much memory Normalize allocates for a value of revtail: the document, and the closure of the scan.
func TestNormalizeAllocates(t *testing.T) {
	value := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"eu","uid":"u1"},"spec":{"nodeName":"n1"}}`)
	allocations := testing.AllocsPerRun(100, func() {
		if _, err := Normalize(value, pod, 7); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 2 {
		t.Errorf("%v allocations, want 2 at most", allocations)
	}
}

var values = []string{
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"eu","uid":"u1","labels":{"a":"b"}},"spec":{"n":[1,2.50,"x"]}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}`,
	`{"metadata":{"resourceVersion":"1","labels":{"a":null}}}`,
	`{"metadata":{"labels":{"a":"1","a":"2"},"uid":"\u0075"},"spec":{"a":1},"spec":{"a":{"b":true}}}`,
}

// texts are JSON and almost JSON; they seed the fuzz tests.
var texts = []string{
	`{}`, `[]`, `""`, `-0`, `1.5e+3`, `null`, ``, `{`, `{"a":1,}`, `{"a":[}`, `{} {}`, "{}\x00", `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", "{\"a\":\"é\u2028\"}",
	" {\n\t\"a\" : [ 1 , 2 ]\r\n} ", `{"a":{"b":{"c":[{"d":null}]}},"a":{"b":2}}`, `{"meta\u0064ata":{"name":"x"}}`, `{"a":1e400}`, `{"a":1e-400}`,
}

// FuzzNormalize checks that the document is the one that decoding, correcting and encoding would make, on one line.
func FuzzNormalize(f *testing.F) {
	for _, value := range append(values, texts...) {
		f.Add([]byte(value), "eu", int64(7))
		f.Add([]byte(value), "", int64(1<<62))
	}
	f.Fuzz(func(t *testing.T, value []byte, namespace string, resourceVersion int64) {
		id := Identity{APIVersion: "v1", Kind: "Pod", Namespace: strings.ToValidUTF8(namespace, "?"), Name: "web"}
		original := bytes.Clone(value)
		want, valid := normalized(value, id, resourceVersion)
		got, err := Normalize(value, id, resourceVersion)
		if (err == nil) != valid {
			t.Fatalf("error %v, want valid = %t", err, valid)
		}
		if !bytes.Equal(original, value) {
			t.Fatal("Normalize modified its argument")
		}
		if err != nil {
			return
		}
		document := mustDecode(t, got.JSON)
		if diff := cmp.Diff(want, document); diff != "" {
			t.Errorf("document (-want +got):\n%s", diff)
		}
		for _, lineEnd := range []string{"\n", "\r", "\u2028", "\u2029"} {
			if bytes.Contains(got.JSON, []byte(lineEnd)) {
				t.Errorf("the document has a line end %q: %s", lineEnd, got.JSON)
			}
		}
		if text, found := jsontext.Lookup(got.JSON, []string{"metadata", "resourceVersion"}); !found || text != strconv.FormatInt(resourceVersion, 10) {
			t.Errorf("resourceVersion = %q, %t", text, found)
		}
		checkMetadata(t, got, document)
	})
}

func checkMetadata(t *testing.T, got Object, document map[string]any) {
	t.Helper()
	metadata := document["metadata"].(map[string]any)
	labels := map[string]string{}
	if members, ok := metadata["labels"].(map[string]any); ok {
		for name, value := range members {
			labels[name] = value.(string)
		}
	}
	expectLabels(t, got.Labels(), labels)
}

// normalized is the oracle of Normalize: it decodes to maps.
func normalized(value []byte, id Identity, resourceVersion int64) (map[string]any, bool) {
	decoded, _ := decode(value)
	document, ok := decoded.(map[string]any)
	if !ok {
		return nil, false
	}
	if document["metadata"] == nil {
		document["metadata"] = map[string]any{}
	}
	metadata, ok := document["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	if _, isString := metadata["uid"].(string); !isString && metadata["uid"] != nil {
		return nil, false
	}
	labels, isObject := metadata["labels"].(map[string]any)
	if !isObject && metadata["labels"] != nil {
		return nil, false
	}
	for name, label := range labels {
		if label == nil {
			labels[name] = ""
		} else if _, isString := label.(string); !isString {
			return nil, false
		}
	}
	document["kind"], document["apiVersion"] = id.Kind, id.APIVersion
	metadata["name"], metadata["resourceVersion"] = id.Name, strconv.FormatInt(resourceVersion, 10)
	delete(metadata, "namespace")
	if id.Namespace != "" {
		metadata["namespace"] = id.Namespace
	}
	return document, true
}
