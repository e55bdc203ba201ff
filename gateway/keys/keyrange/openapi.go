package keyrange

import (
	_ "embed"
	"encoding/json"

	"sigs.k8s.io/yaml"
)

//go:embed openapi.yaml
var description []byte

// OpenAPI returns the OpenAPI 3.1 document of the keys API, in JSON.
func OpenAPI() json.RawMessage {
	document, err := yaml.YAMLToJSON(description)
	if err != nil {
		panic(err) // a test reads the document
	}
	return document
}
