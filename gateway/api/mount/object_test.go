package mount

import (
	"strings"
	"testing"

	"revtail/encoding/codec"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

func TestDecode(t *testing.T) {
	m := &Mount{Prefix: "/app/", Group: "g.example.com", Version: "v1", Kind: "Setting", Plural: "settings", Codec: codec.ValueJSON}
	decode := func(key, value string) (string, error) {
		object, err := m.Decode(resource.Entry{Key: key, Value: []byte(value), Created: 3, Modified: 7, UID: "u"})
		return string(object.JSON), err
	}
	const head = `{"kind":"Setting","apiVersion":"g.example.com/v1","metadata":{"resourceVersion":"7","name":"`
	for _, c := range []struct{ key, value, want string }{
		{"/app/a/b", ` {"x": "<\u2028>"} `, head + `a--b","uid":"u","annotations":{"revtail/key":"/app/a/b"}},"value":{"x":"<\u2028>"}}`},
		{"/app/a\xfe", "1", head + `a---fe","uid":"u","annotations":{"revtail/key64":"L2FwcC9h/g=="}},"value":1}`},
		{"/app/", "[\"\xff", head + `x---empty","uid":"u","annotations":{"revtail/key":"/app/"}},"undecodable":"not what the codec json reads: not valid UTF-8","bytes":"WyL/"}`},
	} {
		if got, err := decode(c.key, c.value); got != c.want || (err != nil) != strings.Contains(c.want, "undecodable") {
			t.Errorf("%q: %s, %v; want %s", c.key, got, err, c.want)
		}
	}
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) // the maximum depth of JSON, and one level more in an object
	if got, err := decode("/app/a", deep); !strings.Contains(got, `"bytes":"W1tb`) || err == nil {
		t.Errorf("a value that is too deep: %.200s, %v", got, err)
	}
	if got, err := decode("/app/"+strings.Repeat("K", 600), "1"); got != "" || err == nil {
		t.Errorf("a key that is too long for a name: %s, %v", got, err)
	}
	first, _ := m.Decode(resource.Entry{Key: "/app/a", Value: []byte("1"), Created: 3})
	again, _ := m.Decode(resource.Entry{Key: "/app/a", Value: []byte("1"), Created: 4})
	if string(first.JSON) == string(again.JSON) || strings.Contains(string(first.JSON), "resourceVersion") {
		t.Errorf("a key that was created twice: %s, %s", first.JSON, again.JSON)
	}
}

func TestValidate(t *testing.T) {
	s := schema{&Mount{Prefix: "/app/", Namespaced: true, Codec: codec.ValueString}}
	const metadata = `"metadata":{"name":"b","namespace":"a"`
	for _, c := range []struct{ object, old, want string }{
		{metadata + `},"value":"x"`, "", ""},
		{metadata + `,"labels":{},"finalizers":[],"annotations":{"revtail/key":"/app/a/b"}},"value":""`, "", ""},
		{metadata + `},"value":1`, "", "value: Invalid value: must be a string, as the codec is string"},
		{metadata + `}`, "", "value: Required value"},
		{metadata + `}`, metadata + `},"value":"x"`, "value: Required value"},
		{metadata + `},"bytes":"/w==","undecodable":"?"`, metadata + `},"bytes":"/w==","undecodable":"?"`, ""},
		{metadata + `},"bytes":"AA==","undecodable":"?"`, metadata + `},"bytes":"/w==","undecodable":"?"`, "bytes: Forbidden"},
		{metadata + `},"value":"x","bytes":"/w==","undecodable":"?"`, metadata + `},"bytes":"/w==","undecodable":"?"`, ""},
		{metadata + `,"annotations":{"revtail/key":"/app/a/c"}},"value":"x"`, "", "metadata.annotations[revtail/key]: Forbidden"},
		{metadata + `,"labels":{"a":"b"},"ownerReferences":[{}]},"value":"x"`, "", "metadata.ownerReferences: Forbidden"},
		{`"metadata":{"name":"b","namespace":"a--b"},"value":"x"`, "", "metadata.namespace: Invalid value"},
	} {
		parse := func(text string) map[string]any {
			object, err := jsontext.Unmarshal([]byte("{" + text + "}"))
			if err != nil {
				t.Fatal(err)
			}
			return object
		}
		var old map[string]any
		if c.old != "" {
			old = parse(c.old)
		}
		errs := s.Validate(t.Context(), parse(c.object), old)
		if (len(errs) == 0) != (c.want == "") || c.want != "" && !strings.Contains(errs.ToAggregate().Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.object, errs, c.want)
		}
	}
}

// TestMountsAreRefused in gateway/config tests the rest of Check.
func TestCheckBuiltin(t *testing.T) {
	m := Mount{Prefix: "/app/", Group: "apps", Version: "v1", Kind: "Setting", Plural: "settings", Codec: codec.ValueJSON}
	if err := Check([]Mount{m}, "/registry", resource.Builtin()); err == nil || !strings.Contains(err.Error(), `group "apps" has kinds that are built in`) {
		t.Errorf("a built-in group: %v", err)
	}
	m.Group = "app.example.com"
	if err := Check([]Mount{m}, "/registry", resource.Builtin()); err != nil {
		t.Error(err)
	}
}
