package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema checks and completes the objects of a custom resource. It is safe for concurrent use.
type Schema interface {
	// Complete prunes an object and sets its defaults, in place. It returns the paths of the pruned fields, which the schema does not
	// have. An error says which field has the wrong type.
	Complete(object map[string]any) (unknown []string, err error)
	// Validate checks a completed object, as an update of old if that is not nil.
	Validate(ctx context.Context, object, old map[string]any) field.ErrorList
	// CheckField is Resource.CheckField, for paths outside the metadata.
	CheckField(path []string) error
	// OpenAPI returns the schema for clients. The caller may change it.
	OpenAPI() *spec.Schema
}

// Scale has the paths, as member names, of the fields of the scale subresource.
type Scale struct {
	SpecReplicas   []string
	StatusReplicas []string
	Selector       []string // of a label selector, as a string or as an object; nil: there is none
}

// Column is one column of a table.
type Column struct {
	Name        string
	Type        string // of OpenAPI: integer, number, string, boolean, date
	Format      string
	Description string
	Priority    int32  // zero: in every table; greater: in wide tables only
	JSONPath    string // of the value, in an object
}
