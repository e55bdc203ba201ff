package gateway

import (
	"encoding/base64"
	"maps"

	"revtail/gateway/resource"
)

// keepStringData makes data of a Secret's stringData, which is a way to write data and is never read: whoever reads the
// Secret looks into data only.
func (d document) keepStringData(res *resource.Resource) {
	if res.Group != "" || res.Kind != "Secret" {
		return
	}
	texts, _ := d.Object["stringData"].(map[string]any)
	delete(d.Object, "stringData")
	if len(texts) == 0 {
		return
	}
	data, _ := d.Object["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for name, text := range texts {
		if text, ok := text.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	d.Object["data"] = data
}
