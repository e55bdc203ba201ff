package customresource

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/resource"
)

// Kind returns the resource of the definitions themselves.
func Kind() *resource.Resource { return kind }

var kind = &resource.Resource{
	Group: apiextensionsv1.GroupName, Version: "v1",
	Plural: "customresourcedefinitions", Singular: "customresourcedefinition", Kind: "CustomResourceDefinition",
	ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
	Status: true, GoType: apiextensionsv1.CustomResourceDefinition{},
	ValidateName: apimachineryvalidation.NameIsDNSSubdomain,
	Schema:       definitionSchema{},
	Decode:       decodeDefinition,
}

// definitionSchema checks definitions.
type definitionSchema struct{}

// Complete sets the names that a definition leaves out.
func (definitionSchema) Complete(object map[string]any) ([]string, error) {
	d, err := parseObject(object)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d.V1.Spec)
	if err != nil {
		return nil, err
	}
	var completed map[string]any
	if err := json.Unmarshal(text, &completed); err != nil {
		return nil, err
	}
	declared, _ := object["spec"].(map[string]any)
	if declared == nil {
		return nil, nil // Validate returns the error
	}
	for _, member := range []string{"names", "conversion"} {
		declared[member] = completed[member]
	}
	return nil, nil
}

// Validate checks a definition, as the successor of old if that is not nil.
func (definitionSchema) Validate(ctx context.Context, object, old map[string]any) field.ErrorList {
	d, err := parseObject(object)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), field.OmitValueType{}, err.Error())}
	}
	var before *Definition
	if old != nil {
		before, _ = parseObject(old) // nil if another program wrote an invalid definition: any definition may replace it
	}
	if errs := d.Validate(ctx, before); len(errs) > 0 {
		return errs
	}
	if _, err := d.Resources(); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "versions"), field.OmitValueType{}, err.Error())}
	}
	return nil
}

// CheckField accepts every path: the fields of definitions are those of their Go type.
func (definitionSchema) CheckField([]string) error { return nil }

// OpenAPI returns nil, because the Go type has a schema.
func (definitionSchema) OpenAPI() *spec.Schema { return nil }

func parseObject(object map[string]any) (*Definition, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("not a definition: %w", err)
	}
	return Parse(text)
}
