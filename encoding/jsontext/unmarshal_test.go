package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestUnmarshal(t *testing.T) {
	got, err := Unmarshal([]byte(` {"a":[0,-0,9223372036854775807,9223372036854775808,18446744073709551617,1.0,0.1,1e2,1e308,1e-400,
		0.10000000000000000001,123456789.12345678901,0e999999999999999999999,1e-999999999999999999999],"b":{"c":null,"d":"x"},"b":{"e":true}} `))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{int64(0), int64(0), int64(math.MaxInt64), json.Number("9223372036854775808"), json.Number("18446744073709551617"), 1.0, 0.1, 100.0,
			1e308, json.Number("1e-400"), json.Number("0.10000000000000000001"), json.Number("123456789.12345678901"),
			0.0, json.Number("1e-999999999999999999999")},
		"b": map[string]any{"e": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		``:               "not JSON: unexpected end of JSON input",
		`{bad`:           "not JSON: invalid character 'b' looking for beginning of object key string",
		`{"a":1}x`:       "not JSON: invalid character 'x' after top-level value",
		`{"a":1}{"b":2}`: "not JSON: invalid character '{' after top-level value",
		`[]`:             "not a JSON object",
		`null`:           "not a JSON object",
		"{\"\xff\":1}":   "not valid UTF-8",
		`{"a":[-1e400]}`: "not JSON: cannot unmarshal number -1e400 into Go value of type float64",
	} {
		_, err := Unmarshal([]byte(text))
		if _, ok := errors.AsType[*DecodeError](err); !ok || err.Error() != want {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzUnmarshal checks that Unmarshal decodes what encoding/json decodes, and changes no number.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"a":[1.0,1e2,-0.0,9223372036854775808,1e23,5e-324,100000000000000000000000000001]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		value, err := UnmarshalValue(doc)
		want, valid := decode(doc)
		if (err == nil) != valid {
			t.Fatalf("error %v, want valid = %t", err, valid)
		}
		if err != nil {
			return
		}
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := decode(written)
		sameNumbers := cmp.Comparer(func(a, b json.Number) bool { return parseDecimal(string(a)) == parseDecimal(string(b)) })
		if diff := cmp.Diff(want, got, sameNumbers); diff != "" {
			t.Errorf("(-read +decoded):\n%s", diff)
		}
	})
}

// decode is the oracle of the tests: encoding/json, which keeps the text of numbers.
func decode(doc []byte) (any, bool) {
	if !utf8.Valid(doc) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	if json.Unmarshal(doc, new(any)) != nil || decoder.Decode(&value) != nil {
		return nil, false
	}
	return value, true
}
