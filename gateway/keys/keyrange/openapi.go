package keyrange

import (
	_ "embed"
	"encoding/json"

	"sigs.k8s.io/yaml"
)

//go:embed openapi.yaml
var description []byte

// OpenAPI is the description of the plain dialect: a document of OpenAPI 3.1 in JSON.
func OpenAPI() json.RawMessage {
	document, err := yaml.YAMLToJSON(description)
	if err != nil {
		panic(err) // cannot be: a test has read it
	}
	return document
}
