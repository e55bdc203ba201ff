package admission

import (
	"revtail/gateway/api/openapi"
	"revtail/gateway/http/response"
)

// document is the OpenAPI document of a group and version. It is rendered when the first policy needs it.
type document struct {
	path   string
	render func() response.Document
}

// Schema implements client-go's openapi.GroupVersion.
func (d document) Schema(string) ([]byte, error) { return d.render().Body, nil }

// ServerRelativeURL implements client-go's openapi.GroupVersion. It changes with the document.
func (d document) ServerRelativeURL() string { return openapi.URL(d.path, d.render()) }
