package object

import (
	"encoding/base64"
	"maps"

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

// EncodeStringData moves the stringData of a Secret into its data. Clients write stringData and never read it.
func (d Object) EncodeStringData(res *resource.Resource) {
	if res.Group != "" || res.Kind != "Secret" {
		return
	}
	plain, _ := d.Object["stringData"].(map[string]any)
	delete(d.Object, "stringData")
	if len(plain) == 0 {
		return
	}
	data, _ := d.Object["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for name, text := range plain {
		if text, ok := text.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	d.Object["data"] = data
}
