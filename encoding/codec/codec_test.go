package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"revtail/encoding/jsontext"
)

func TestDecodeMediaTypes(t *testing.T) {
	for contentType, body := range map[string]string{
		"":                                 `{"a":1}`,
		"application/json":                 `{"a":1}`,
		"Application/JSON; charset=utf-8":  `{"a":1}`,
		"application/json;charset":         `{"a":1}`,
		"application/yaml":                 `a: 1`,
		"application/yaml; charset=utf-8 ": `a: 1`,
	} {
		got, err := Decode(contentType, []byte(body))
		if diff := cmp.Diff(Decoded{Object: map[string]any{"a": int64(1)}}, got); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", contentType, err, diff)
		}
	}
	for _, contentType := range []string{"text/plain", "application/cbor", "application/vnd.kubernetes.protobuf", "json", ";", "a/b/c"} {
		_, err := Decode(contentType, []byte(`{}`))
		refused, ok := errors.AsType[*UnsupportedMediaTypeError](err)
		if !ok {
			t.Errorf("%q: error %v, want a *UnsupportedMediaTypeError", contentType, err)
			continue
		}
		if diff := cmp.Diff([]string{JSON, YAML}, refused.Accepted); diff != "" || refused.ContentType != contentType {
			t.Errorf("%q: %v", contentType, refused)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	syntaxError := func(err error) bool { _, ok := errors.AsType[*SyntaxError](err); return ok }
	limitError := func(err error) bool { _, ok := errors.AsType[*LimitError](err); return ok }
	notObject := func(err error) bool { return errors.Is(err, ErrNotObject) }
	notUTF8 := func(err error) bool { return errors.Is(err, ErrNotUTF8) }
	tests := []struct {
		name, contentType, body string
		is                      func(error) bool
		text                    string // the whole error, or empty
	}{
		{"malformed", JSON, `{bad`, syntaxError, "json parse error: invalid character 'b' looking for beginning of object key string"},
		{"empty", JSON, ``, syntaxError, "json parse error: unexpected end of JSON input"},
		{"two objects", JSON, `{}{}`, syntaxError, "json parse error: invalid character '{' after top-level value"},
		{"array", JSON, `[]`, notObject, ""},
		{"null", JSON, `null`, notObject, ""},
		{"not UTF-8", JSON, "{\"a\":\"\xff\"}", notUTF8, ""},
		{"deep", JSON, nested(MaxDepth + 1), limitError, "the body has more than 64 levels of nesting"},
		{"many tokens", JSON, `{"a":[` + strings.Repeat("0,", MaxTokens) + `0]}`, limitError, "the body has more than 100000 tokens"},
		{"many empty arrays", JSON, `[` + strings.Repeat("[],", 1<<20) + `[]]`, limitError, ""},
		{"malformed", YAML, "a: [", syntaxError, ""},
		{"tab", YAML, "a:\n\tb: 1", syntaxError, ""},
		{"empty", YAML, "", notObject, ""},
		{"comment", YAML, "# nothing\n", notObject, ""},
		{"null", YAML, "---\n", notObject, ""},
		{"sequence", YAML, "- a\n", notObject, ""},
		{"text", YAML, "hello", notObject, ""},
		{"not UTF-8", YAML, "a: \xff", notUTF8, ""},
		{"two documents", YAML, "a: 1\n---\nb: 2\n", syntaxError, "yaml parse error: line 2: a second document; send one at a time"},
		{"bad second document", YAML, "a: 1\n---\nb: [\n", syntaxError, ""},
		{"unknown alias", YAML, "a: *b", syntaxError, ""},
		{"binary", YAML, "a: !!binary aGk=", syntaxError, "yaml parse error: line 1: !!binary is not supported; send base64 as a string"},
		{"not a number", YAML, "a: .nan", syntaxError, "yaml parse error: line 1: json: unsupported value: NaN"},
		{"mistagged number", YAML, "a: !!int true", syntaxError, ""},
		{"sequence as a name", YAML, "? [a]\n: 1", syntaxError, ""},
		{"null as a name", YAML, "~: 1", syntaxError, ""},
		{"merge of a scalar", YAML, "<<: 1", syntaxError, ""},
		{"deep", YAML, nested(MaxDepth + 1), limitError, "the body has more than 64 levels of nesting"},
		{"many nodes", YAML, "a: [" + strings.Repeat("0,", maxIndicators) + "0]", limitError, ""},
		{"alias of itself", YAML, "a: &a [*a]", limitError, ""},
		{"merge of itself", YAML, "a: &a\n  <<: *a", limitError, ""},
		{"alias bomb", YAML, bomb("[%s]"), limitError, ""},
		{"merge bomb", YAML, bomb("{<<: [%s]}"), limitError, ""},
		{"long scalar, many aliases", YAML, "a: &a " + strings.Repeat("x", 50_000) + "\nb: [" + strings.Repeat("*a,", 1000) + "]", limitError,
			"the body has more than 1048576 bytes from YAML aliases"},
		{"long name, many aliases", YAML, "a: &a " + strings.Repeat("x", 50_000) + "\nb: [" + strings.Repeat("{*a : 1},", 1000) + "]", limitError,
			"the body has more than 1048576 bytes from YAML aliases"},
	}
	for _, tt := range tests {
		t.Run(tt.contentType+"/"+tt.name, func(t *testing.T) {
			_, err := Decode(tt.contentType, []byte(tt.body))
			if err == nil || !tt.is(err) || tt.text != "" && err.Error() != tt.text {
				t.Errorf("error %v, want %q", err, tt.text)
			}
		})
	}
}

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

// bomb returns a YAML document in which each of thirty anchors contains the one before ten times.
func bomb(format string) string {
	var text strings.Builder
	text.WriteString("a0: &a0 {x: y}\n")
	for i := range 30 {
		aliases := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		fmt.Fprintf(&text, "a%d: &a%d "+format+"\n", i+1, i+1, aliases)
	}
	return text.String()
}

func TestCheck(t *testing.T) {
	if err := Check([]byte(nested(MaxDepth))); err != nil {
		t.Error(err)
	}
	if _, ok := errors.AsType[*LimitError](Check([]byte(nested(MaxDepth + 1)))); !ok {
		t.Error("a document above the depth limit is accepted")
	}
	if err := Check([]byte{0xff}); !errors.Is(err, ErrNotUTF8) {
		t.Errorf("error %v, want ErrNotUTF8", err)
	}
	if _, err := Decode(JSON, []byte(nested(MaxDepth))); err != nil {
		t.Error(err)
	}
}

func TestDuplicates(t *testing.T) {
	long := strings.Repeat("é", 200)
	tests := []struct {
		name, contentType, body string
		want                    []string
	}{
		{"none", JSON, `{"a":{"b":1},"c":[{"b":2},{"b":3}]}`, nil},
		{"top", JSON, `{"a":1,"b":2,"a":3,"a":4}`, []string{"a"}},
		{"nested", JSON, `{"spec":{"ports":[{"n":1},{"n":1,"n":2}]},"spec":{"x":1}}`, []string{"spec.ports[1].n", "spec"}},
		{"escaped", JSON, `{"a":1,"\u0061":2}`, []string{"a"}},
		{"long", JSON, `{"` + long + `":1,"` + long + `":2}`, []string{strings.Repeat("é", 128) + "…"}},
		{"yaml", YAML, "a: 1\nb: {c: 1, c: 2}\na: 3\n", []string{"b.c", "a"}},
		{"yaml merge", YAML, "a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {x: 3, <<: [*a, *a]}\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(tt.contentType, []byte(tt.body))
			if diff := cmp.Diff(tt.want, got.Duplicates); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	var many strings.Builder
	for i := range 2 * 100 {
		fmt.Fprintf(&many, `"a%d":1,"a%d":2,`, i, i)
	}
	got, err := Decode(JSON, []byte(`{`+many.String()+`"b":1}`))
	if err != nil || len(got.Duplicates) != 100 {
		t.Errorf("%d duplicates, %v; want %d", len(got.Duplicates), err, 100)
	}
	if got.Object["a0"] != int64(2) {
		t.Errorf("a0 = %v, want the last value", got.Object["a0"])
	}
}

func TestYAMLScalars(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{"1", int64(1)}, {"-0", int64(0)}, {"+1", int64(1)}, {"0x1F", int64(31)}, {"010", int64(8)}, {"0o10", int64(8)}, {"1_000", int64(1000)},
		{"9223372036854775807", int64(9223372036854775807)}, {"18446744073709551617", json.Number("18446744073709551617")},
		{"1.5", 1.5}, {"1e3", 1000.0}, {".5", 0.5}, {"0.10000000000000000001", json.Number("0.10000000000000000001")},
		{"true", true}, {"yes", true}, {"Off", false}, {"'yes'", "yes"}, {"!!str yes", "yes"}, {"!!bool yes", true}, {"|-\n  yes", "yes"},
		{"", nil}, {"~", nil}, {"null", nil}, {"'null'", "null"}, {"2026-11-21", "2026-11-21"}, {"2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"},
		{"text", "text"}, {"\"a\\u2028b\"", "a\u2028b"}, {"<<", "<<"}, {"!custom 5", "5"}, {"1.2.3", "1.2.3"}, {"08", int64(8)}, {"[]", []any{}}, {"{}", map[string]any{}},
	}
	for _, tt := range tests {
		got, err := Decode(YAML, []byte("a: "+tt.text))
		if diff := cmp.Diff(map[string]any{"a": tt.want}, got.Object); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", tt.text, err, diff)
		}
	}
}

func TestYAMLNames(t *testing.T) {
	got, err := Decode(YAML, []byte("1: a\n0x1F: b\nyes: c\n1.5: d\n2026-11-21: e\n'on': f\n&x g: h\ni: {*x : j}\n"))
	want := map[string]any{"1": "a", "31": "b", "true": "c", "1.5": "d", "2026-11-21": "e", "on": "f", "g": "h", "i": map[string]any{"g": "j"}}
	if diff := cmp.Diff(want, got.Object); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// documents are read alike by Decode and by the YAML reader of kubectl.
var documents = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: coredns\ndata:\n  Corefile: |\n    .:53 {\n        cache 30\n    }\n",
	"base: &base {image: nginx, ports: [80, 443]}\none: *base\ntwo: {<<: *base, image: httpd}\nthree:\n  <<: [{a: 1}, {a: 2, b: 3}]\n  b: 4\n",
	"a: >\n  folded\n  text\n\nb: \"q\\tq\"\nc: 'it''s'\nd: [1, 2.5, yes, ~, 0x10, 0o7, 017]\ne: 2001-12-14\n",
	"%YAML 1.1\n---\na: 1\n...\n",
	"\ufeffa: 1\r\nb: é\r\n",
	`{"a": [1, {"b": null}], "c": "\u00e9"}`,
}

func TestYAMLLikeKubectl(t *testing.T) {
	for _, document := range documents {
		text, err := sigsyaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsontext.Unmarshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(YAML, []byte(document))
		if diff := cmp.Diff(want, got.Object); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", document, err, diff)
		}
	}
}

// TestDecodeIsBounded checks that Decode allocates almost no memory for a large body that it refuses.
func TestDecodeIsBounded(t *testing.T) {
	for _, contentType := range []string{JSON, YAML} {
		body := []byte(`[` + strings.Repeat("[],", 1<<20) + `[]]`)
		allocations := testing.AllocsPerRun(3, func() {
			if _, err := Decode(contentType, body); err == nil {
				t.Fatal("the body is accepted")
			}
		})
		if allocations > 20 {
			t.Errorf("%s: %v allocations", contentType, allocations)
		}
	}
}

// TestDuplicatePathsAreBounded checks that a long name above many duplicates does not make as many long paths.
func TestDuplicatePathsAreBounded(t *testing.T) {
	body := `{"` + strings.Repeat("n", 1<<20) + `":{` + strings.Repeat(`"a":1,`, 1000) + `"a":1}}`
	got, err := Decode(JSON, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if size := len(strings.Join(got.Duplicates, "")); size == 0 || size > 100<<10 {
		t.Errorf("the paths have %d bytes", size)
	}
}
