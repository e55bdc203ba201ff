package customresource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"

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
	if errs := d.validateSelectable(); len(errs) > 0 {
		return errs
	}
	checked := d.internal.DeepCopy()
	stored := &checked.Status.StoredVersions // to which the next update of the status adds a new storage version
	if old == nil {
		*stored = []string{d.storageVersion()}
		return validation.ValidateCustomResourceDefinition(ctx, checked)
	}
	if version := d.storageVersion(); version != old.storageVersion() && !slices.Contains(*stored, version) {
		*stored = append(*stored, version)
	}
	return validation.ValidateCustomResourceDefinitionUpdate(ctx, checked, old.internal)
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
	var all, served []*resource.Resource
	for i := range d.V1.Spec.Versions {
		version := &d.V1.Spec.Versions[i]
		if !version.Served && !d.hasWebhook() {
			continue
		}
		res, err := d.resource(version)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", version.Name, err)
		}
		if all = append(all, res); version.Served {
			served = append(served, res)
		}
	}
	if d.hasWebhook() {
		return served, d.convertByWebhook(all)
	}
	return served, nil
}

// Stored returns the resource in its storage version, whether or not it is served. It has no schema. If a webhook converts the objects, they are
// in the versions in which they are stored.
func (d *Definition) Stored() *resource.Resource {
	names := d.V1.Spec.Names
	return &resource.Resource{
		Group: d.V1.Spec.Group, Version: d.storageVersion(), Plural: names.Plural, Kind: names.Kind,
		Namespaced: d.V1.Spec.Scope == apiextensionsv1.NamespaceScoped, AnyVersion: d.hasWebhook(),
	}
}

func (d *Definition) resource(version *apiextensionsv1.CustomResourceDefinitionVersion) (*resource.Resource, error) {
	names := d.V1.Spec.Names
	res := &resource.Resource{
		Group: d.V1.Spec.Group, Version: version.Name,
		Storage: runtimeschema.GroupVersion{Group: d.V1.Spec.Group, Version: d.storageVersion()},
		Plural:  names.Plural, Singular: names.Singular, Kind: names.Kind, ListKindName: names.ListKind,
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
	stored, err := newStored(d, version.Name, schema)
	switch {
	case err != nil:
		return nil, err
	case stored != nil:
		res.Defaults, res.Store = stored.read, stored.write
	case hasDefaults(schema.structural):
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

// deprecation returns the warning for the clients of a version: the definition's or, if that has none, one that names the newest version.
// Empty: the version is not deprecated.
func (d *Definition) deprecation(deprecated *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if !deprecated.Deprecated {
		return ""
	}
	if deprecated.DeprecationWarning != nil {
		return *deprecated.DeprecationWarning
	}
	group, kind, better := d.V1.Spec.Group, d.V1.Spec.Names.Kind, deprecated.Name
	for _, v := range d.V1.Spec.Versions {
		if v.Served && !v.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, better) > 0 {
			better = v.Name
		}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", group, deprecated.Name, kind)
	if better != deprecated.Name {
		warning += fmt.Sprintf("; use %s/%s %s", group, better, kind)
	}
	return warning
}

// Status returns the status that a definition should have with a conflict of Accept. A condition that does not change keeps its time, so
// that the result equals the definition's status if nothing changes.
func (d *Definition) Status(conflict Conflict) apiextensionsv1.CustomResourceDefinitionStatus {
	next := &apiextensionsv1.CustomResourceDefinition{Status: *d.V1.Status.DeepCopy()}
	set := func(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason, message string) {
		apihelpers.SetCRDCondition(next, apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	if conflict == (Conflict{}) {
		next.Status.AcceptedNames = d.V1.Spec.Names
		set(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
		set(apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted")
	} else {
		set(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, conflict.Reason, conflict.Message)
		if !d.Established() {
			set(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
		}
	}
	if d.V1.DeletionTimestamp != nil {
		set(apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "the objects of the resource are being deleted")
	}
	if storage := d.storageVersion(); storage != "" && !slices.Contains(next.Status.StoredVersions, storage) {
		next.Status.StoredVersions = append(next.Status.StoredVersions, storage)
	}
	return next.Status
}

// Established reports whether the status of a definition says that its versions are served.
func (d *Definition) Established() bool {
	return apihelpers.IsCRDConditionTrue(d.V1, apiextensionsv1.Established)
}

// Serves reports whether a definition has a served version of this name.
func (d *Definition) Serves(version string) bool {
	return apihelpers.HasServedCRDVersion(d.V1, version)
}
