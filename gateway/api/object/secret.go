package object

import (
	"encoding/base64"
	"maps"

	"revtail/gateway/resource"
)

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
