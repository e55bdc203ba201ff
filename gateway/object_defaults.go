package gateway

import (
	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// withDefaults is a stored object as clients see it: with what the kind, or a schema that may be younger, says of fields that
// it does not have. Status is one of them, as it is not stored with the object at first.
func withDefaults(res *resource.Resource, value []byte) []byte {
	setDefaults := res.Defaults
	if res.Schema != nil && res.Schema.HasDefaults() {
		setDefaults = res.Schema.Defaults
	}
	if setDefaults == nil {
		return value
	}
	object, err := jsontext.Unmarshal(value)
	if err != nil {
		return value // Normalize says what is wrong with it
	}
	setDefaults(object)
	completed, err := encoding.Marshal(object)
	if err != nil {
		return value
	}
	return completed
}
