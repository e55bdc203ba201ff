package object

import (
	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// WithDefaults is a stored object with the defaults of its kind or schema, which may be newer than the object. A new object is stored
// without its status, whose defaults are set here.
func WithDefaults(res *resource.Resource, value []byte) []byte {
	setDefaults := res.Defaults
	if res.Schema != nil && res.Schema.HasDefaults() {
		setDefaults = res.Schema.Defaults
	}
	if setDefaults == nil {
		return value
	}
	object, err := jsontext.Unmarshal(value)
	if err != nil {
		return value // encoding.Normalize says what is wrong with it
	}
	setDefaults(object)
	completed, err := encoding.Marshal(object)
	if err != nil {
		return value
	}
	return completed
}
