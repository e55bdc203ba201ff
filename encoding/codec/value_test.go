package codec_test

import (
	"bytes"
	"testing"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/encoding/jsontext"
)

func TestValueDecode(t *testing.T) {
	for _, c := range []struct {
		codec        codec.Value
		stored, want string // "": refused
	}{
		{codec.ValueJSON, ` { "a" : [1, 2.50] } `, `{"a":[1,2.50]}`},
		{codec.ValueJSON, `"x"`, `"x"`},
		{codec.ValueJSON, `12345678901234567890`, `12345678901234567890`},
		{codec.ValueJSON, ``, ""},
		{codec.ValueJSON, `{`, ""},
		{codec.ValueJSON, "\"\xff\"", ""},
		{codec.ValueYAML, "a:\n- 1\n- yes # really\n", `{"a":[1,true]}`},
		{codec.ValueYAML, "plain", `"plain"`},
		{codec.ValueYAML, "", `null`},
		{codec.ValueYAML, "a: [", ""},
		{codec.ValueYAML, "--- 1\n--- 2\n", ""},
		{codec.ValueString, "é\n\"", `"é\n\""`},
		{codec.ValueString, "", `""`},
		{codec.ValueString, "\xff", ""},
		{codec.ValueBytes, "\xff\x00", `"/wA="`},
		{codec.ValueBytes, "", `""`},
	} {
		got, err := c.codec.Decode([]byte(c.stored))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q is %s, %v; want %s", c.codec, c.stored, got, err, c.want)
		}
	}
}

func TestValueEncode(t *testing.T) {
	for _, c := range []struct {
		codec codec.Value
		value any
		want  string // "": refused
	}{
		{codec.ValueJSON, map[string]any{"b": int64(1), "a": []any{true, nil}}, `{"a":[true,null],"b":1}`},
		{codec.ValueYAML, map[string]any{"b": int64(1), "a": "yes"}, "a: \"yes\"\nb: 1\n"},
		{codec.ValueString, "x y", "x y"},
		{codec.ValueString, int64(1), ""},
		{codec.ValueBytes, "/wA=", "\xff\x00"},
		{codec.ValueBytes, "/wA", ""},
		{codec.ValueBytes, "/wB=", ""}, // bits after the last byte
		{codec.ValueBytes, nil, ""},
	} {
		got, err := c.codec.Encode(c.value)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %v is %q, %v; want %q", c.codec, c.value, got, err, c.want)
		}
	}
}

// FuzzValue checks that a decoded value can be encoded, and decodes to the same again.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,null]}`, "a: yes\nb: [x, 'y']", "\xff", "", "plain", `"é\u2028"`, "a: &x {b: 1}\nc: *x", "0o7", "- |\n  x\n  y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stored string) {
		for _, c := range codec.Values {
			shown, err := c.Decode([]byte(stored))
			if err != nil {
				continue
			}
			object, err := jsontext.Unmarshal([]byte(`{"value":` + string(shown) + `}`))
			if err != nil {
				t.Fatalf("%s: %q decodes to %s, which is not JSON: %v", c, stored, shown, err)
			}
			written, err := c.Encode(object["value"])
			if err != nil {
				t.Fatalf("%s: %q decodes to %s, which cannot be encoded: %v", c, stored, shown, err)
			}
			again, err := c.Decode(written)
			if err != nil {
				t.Fatalf("%s: %q is encoded as %q: %v", c, stored, written, err)
			}
			reread, err := jsontext.Unmarshal([]byte(`{"value":` + string(again) + `}`))
			if err != nil {
				t.Fatal(err)
			}
			before, _ := encoding.MarshalValue(object)
			after, _ := encoding.MarshalValue(reread)
			if !bytes.Equal(before, after) {
				t.Errorf("%s: %q decodes to %s and, encoded as %q, to %s", c, stored, before, written, after)
			}
			if exact := c == codec.ValueString || c == codec.ValueBytes; exact && string(written) != stored {
				t.Errorf("%s: %q becomes %q", c, stored, written)
			}
		}
	})
}
