package codec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"revtail/encoding"
	"revtail/encoding/jsontext"
)

// Value is the format of the values of keys that other programs write.
type Value string

// The formats of values.
const (
	ValueJSON   Value = "json"   // JSON of any type
	ValueYAML   Value = "yaml"   // one YAML document, as in Decode
	ValueString Value = "string" // UTF-8, as a JSON string
	ValueBytes  Value = "bytes"  // any bytes, as a JSON string in base64
)

// Values are all formats.
var Values = []Value{ValueJSON, ValueYAML, ValueString, ValueBytes}

// Decode returns a value as compact JSON. An empty value is null in YAML, and an error in JSON.
func (v Value) Decode(stored []byte) ([]byte, error) {
	if v == ValueBytes {
		out := base64.StdEncoding.AppendEncode(append(make([]byte, 0, 2+base64.StdEncoding.EncodedLen(len(stored))), '"'), stored)
		return append(out, '"'), nil
	}
	if !utf8.Valid(stored) {
		return nil, errors.New("not valid UTF-8")
	}
	switch v {
	case ValueString:
		return jsontext.AppendString(make([]byte, 0, len(stored)+2), string(stored)), nil
	case ValueYAML:
		out, err := yamlToJSON(stored)
		if errors.Is(err, ErrNotObject) { // an empty document
			return []byte("null"), nil
		}
		if err != nil {
			return nil, err
		}
		return jsontext.Compact(out)
	}
	return jsontext.Compact(stored)
}

// Encode is the inverse of Decode, for values of jsontext.Unmarshal. JSON is on one line, YAML is indented and has a newline at its
// end. The error says what the value must be.
func (v Value) Encode(value any) ([]byte, error) {
	if v == ValueString || v == ValueBytes {
		text, ok := value.(string)
		switch {
		case !ok:
			return nil, fmt.Errorf("must be a string, as the codec is %s", v)
		case v == ValueString:
			return []byte(text), nil
		}
		stored, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("must be base64, as the codec is bytes: %w", err)
		}
		return stored, nil
	}
	text, err := encoding.MarshalValue(value)
	if err != nil || v == ValueJSON {
		return text, err
	}
	return encoding.YAML(text)
}
