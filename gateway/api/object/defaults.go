package object

import (
	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// WithDefaults returns a stored object with the defaults of its kind or schema, which may be newer than the object. They include those of
// the status, because a new object is stored without one.
func WithDefaults(res *resource.Resource, value []byte) []byte {
	if res.Defaults == nil {
		return value
	}
	object, err := jsontext.Unmarshal(value)
	if err != nil {
		return value // encoding.Normalize returns the error
	}
	res.Defaults(object)
	completed, err := encoding.Marshal(object)
	if err != nil {
		return value
	}
	return completed
}
