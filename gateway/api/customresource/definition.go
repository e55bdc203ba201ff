package customresource

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/resource"
)

// Definition is a parsed CustomResourceDefinition with its defaults. It is immutable.
type Definition struct {
	// V1 is the definition as clients see it. It is shared and must not be modified.
	V1       *apiextensionsv1.CustomResourceDefinition
	internal *apiextensions.CustomResourceDefinition
}

// Parse decodes a definition, which may be invalid: see Validate. An error says which field has the wrong type.
func Parse(document []byte) (*Definition, error) {
	d := &Definition{V1: &apiextensionsv1.CustomResourceDefinition{}, internal: &apiextensions.CustomResourceDefinition{}}
	if err := json.Unmarshal(document, d.V1); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(d.V1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&d.V1.Spec)
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(d.V1, d.internal, nil)
	return d, err
}

// Validate checks a definition, as an update of old if that is not nil.
func (d *Definition) Validate(ctx context.Context, old *Definition) field.ErrorList {
	if conversion := d.V1.Spec.Conversion; conversion != nil && conversion.Strategy != apiextensionsv1.NoneConverter {
		return field.ErrorList{field.NotSupported(field.NewPath("spec", "conversion", "strategy"), conversion.Strategy,
			[]apiextensionsv1.ConversionStrategyType{apiextensionsv1.NoneConverter})}
	}
	if errs := d.validateSelectable(); len(errs) > 0 {
		return errs
	}
	if old != nil {
		return validation.ValidateCustomResourceDefinitionUpdate(ctx, d.internal, old.internal)
	}
	created := d.internal.DeepCopy()
	created.Status.StoredVersions = []string{d.storageVersion()} // which the first update of the status sets
	return validation.ValidateCustomResourceDefinition(ctx, created)
}

// validateSelectable checks that the schema of each version with selectable fields is structural, because the library assumes that.
func (d *Definition) validateSelectable() (errs field.ErrorList) {
	for i, version := range d.V1.Spec.Versions {
		schema, err := apiextensions.GetSchemaForVersion(d.internal, version.Name)
		if len(version.SelectableFields) == 0 || err != nil || schema == nil {
			continue
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		if schema.OpenAPIV3Schema == nil {
			errs = append(errs, field.Required(path, "schemas are required"))
		} else if _, err := structuralschema.NewStructural(schema.OpenAPIV3Schema); err != nil {
			errs = append(errs, field.Invalid(path, "", err.Error()))
		}
	}
	return errs
}

// storageVersion returns the version in which objects are stored; empty: the definition is invalid.
func (d *Definition) storageVersion() string {
	version, _ := apihelpers.GetCRDStorageVersion(d.V1) // an error: there is none
	return version
}

// Resources returns the resources of a definition, one for each served version.
func (d *Definition) Resources() ([]*resource.Resource, error) {
	var resources []*resource.Resource
	for i := range d.V1.Spec.Versions {
		version := &d.V1.Spec.Versions[i]
		if !version.Served {
			continue
		}
		res, err := d.resource(version)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", version.Name, err)
		}
		resources = append(resources, res)
	}
	return resources, nil
}

// Stored returns the resource in its storage version, whether or not it is served. It has no schema.
func (d *Definition) Stored() *resource.Resource {
	names := d.V1.Spec.Names
	return &resource.Resource{
		Group: d.V1.Spec.Group, Version: d.storageVersion(), Plural: names.Plural, Kind: names.Kind,
		Namespaced: d.V1.Spec.Scope == apiextensionsv1.NamespaceScoped,
	}
}

func (d *Definition) resource(version *apiextensionsv1.CustomResourceDefinitionVersion) (*resource.Resource, error) {
	names := d.V1.Spec.Names
	res := &resource.Resource{
		Group: d.V1.Spec.Group, Version: version.Name, Storage: d.storageVersion(),
		Plural: names.Plural, Singular: names.Singular, Kind: names.Kind, ListKindName: names.ListKind,
		Namespaced: d.V1.Spec.Scope == apiextensionsv1.NamespaceScoped,
		ShortNames: names.ShortNames, Categories: names.Categories,
		ValidateName: apimachineryvalidation.NameIsDNSSubdomain,
		Columns:      columns(version.AdditionalPrinterColumns),
		Deprecation:  d.deprecation(version),
	}
	if sub := version.Subresources; sub != nil {
		res.Status = sub.Status != nil
		res.Scale = scale(sub.Scale)
	}
	schema, err := newSchema(d, version)
	if err != nil {
		return nil, err
	}
	res.Schema = schema
	if hasDefaults(schema.structural) {
		res.Defaults = func(object map[string]any) {
			plainNumbers(object)
			schema.setDefaults(object)
		}
	}
	return res, nil
}

func scale(s *apiextensionsv1.CustomResourceSubresourceScale) *resource.Scale {
	if s == nil {
		return nil
	}
	path := func(text string) []string { return strings.Split(strings.TrimPrefix(text, "."), ".") }
	out := &resource.Scale{SpecReplicas: path(s.SpecReplicasPath), StatusReplicas: path(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		out.Selector = path(*s.LabelSelectorPath)
	}
	return out
}

func columns(defined []apiextensionsv1.CustomResourceColumnDefinition) []resource.Column {
	var out []resource.Column
	for _, c := range defined {
		out = append(out, resource.Column{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description, Priority: c.Priority, JSONPath: c.JSONPath})
	}
	return out
}
