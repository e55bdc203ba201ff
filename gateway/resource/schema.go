package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema is what is known of the objects of a custom resource. It is safe for concurrent use.
type Schema interface {
	// Complete brings an object, in place, into the form in which it is stored: fields that the schema does not know are
	// removed and returned as paths, defaults are set. An error says what makes that impossible.
	Complete(object map[string]any) (unknown []string, err error)
	// Defaults sets, in place, what the schema says of fields that are not there: of an object that was stored before.
	Defaults(object map[string]any)
	// HasDefaults tells whether Defaults ever does something.
	HasDefaults() bool
	// Validate checks a completed object, as the successor of old if that is not nil.
	Validate(ctx context.Context, object, old map[string]any) field.ErrorList
	// Selectable tells whether a path of member names can lead to a scalar, which a field selector may then name.
	Selectable(path []string) bool
	// OpenAPI makes the schema for clients. It is the caller's, to add to.
	OpenAPI() *spec.Schema
}

// Scale says where an object keeps what the scale subresource shows: paths of member names.
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
	Priority    int32  // zero: always shown; greater: only where a client asks for wide tables
	JSONPath    string // of the value, in an object
}
