package keyapi

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Name names a key as the API does: in text or, if it is not UTF-8, in base64.
type Name struct {
	Key   string `json:"key,omitempty"`
	Key64 string `json:"key64,omitempty"`
}

// NewName names a key.
func NewName(key string) Name {
	if utf8.ValidString(key) {
		return Name{Key: key}
	}
	return Name{Key64: base64.StdEncoding.EncodeToString([]byte(key))}
}

func (n Name) String() string {
	if n.Key64 != "" {
		key, _ := base64.StdEncoding.DecodeString(n.Key64) // the gateway has encoded it
		return string(key)
	}
	return n.Key
}

// Value is a value as the API shows it.
type Value struct {
	Value    json.RawMessage `json:"value,omitempty"`
	Encoding string          `json:"encoding,omitempty"`
}

// NewValue shows bytes as a value, byte for byte.
func NewValue(content []byte) Value {
	if utf8.Valid(content) {
		text, _ := json.Marshal(string(content)) // a string can always be encoded
		return Value{text, "utf8"}
	}
	text, _ := json.Marshal(content)
	return Value{text, "base64"}
}

// Bytes returns the value that etcd has. A value that is shown as JSON has lost its white space.
func (v Value) Bytes() ([]byte, error) {
	if v.Encoding == "json" {
		return v.Value, nil
	}
	var text string
	if err := json.Unmarshal(v.Value, &text); err != nil {
		return v.Value, nil //nolint:nilerr // --fields has selected parts of the value, which are JSON
	}
	if v.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(text)
	}
	return []byte(text), nil
}

// Item is a key with its value. With depth=1 it can be a prefix, which has a name only.
type Item struct {
	Name
	Value
	CreateRevision int64  `json:"createRevision,omitempty"`
	ModRevision    int64  `json:"modRevision,omitempty"`
	Version        int64  `json:"version,omitempty"`
	Lease          string `json:"lease,omitempty"`
}

// DecodeItem decodes an item of an answer.
func DecodeItem(text json.RawMessage) (Item, error) {
	var i Item
	err := json.Unmarshal(text, &i)
	return i, err
}

// IsPrefix reports whether a key is a prefix, which stands for all keys that begin with it.
func IsPrefix(key string) bool { return strings.HasSuffix(key, "/") }
