package objects

import (
	"bytes"
	"encoding/json"
)

// marshal returns JSON with a final newline. It does not escape <, > and &, because the output is no HTML.
func marshal(document any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(document)
	return out.Bytes(), err
}
