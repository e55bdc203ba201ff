package customresource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/resource"
)

// schema checks and completes the objects of one version of a definition. It is safe for concurrent use.
type schema struct {
	declared   *apiextensionsv1.JSONSchemaProps
	structural *structuralschema.Structural
	preserve   bool // unknown fields are kept
	whole      validation.SchemaValidator
	rules      *cel.Validator // nil: none
	scale      *resource.Scale
	selectable []any // the value of x-kubernetes-selectable-fields
}

var _ resource.Schema = (*schema)(nil)

func newSchema(d *Definition, version *apiextensionsv1.CustomResourceDefinitionVersion) (*schema, error) {
	props, err := propsOf(d, version.Name)
	if err != nil {
		return nil, err
	}
	s := &schema{preserve: d.V1.Spec.PreserveUnknownFields, declared: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		s.declared = version.Schema.OpenAPIV3Schema
	}
	if version.Subresources != nil {
		s.scale = scale(version.Subresources.Scale)
	}
	for _, declared := range version.SelectableFields {
		s.selectable = append(s.selectable, map[string]any{"fieldPath": strings.TrimPrefix(declared.JSONPath, ".")})
	}
	if s.structural, err = newStructural(props); err != nil {
		return nil, err
	}
	if s.whole, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, err
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// propsOf returns the declared schema of a version; without one it has no fields.
func propsOf(d *Definition, version string) (*apiextensions.JSONSchemaProps, error) {
	declared, err := apiextensions.GetSchemaForVersion(d.internal, version)
	if err != nil || declared == nil || declared.OpenAPIV3Schema == nil {
		return &apiextensions.JSONSchemaProps{Type: "object"}, err
	}
	return declared.OpenAPIV3Schema, nil
}

// newStructural returns the structural schema of a version, whose defaults have known fields only.
func newStructural(props *apiextensions.JSONSchemaProps) (*structuralschema.Structural, error) {
	s, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	return s, defaulting.PruneDefaults(s)
}

// OpenAPI returns the schema for clients. The caller may change it.
func (s *schema) OpenAPI() *spec.Schema {
	text, err := json.Marshal(s.declared)
	out := &spec.Schema{}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil { // not reached: NewStructural has read it
		panic(fmt.Sprintf("customresource: a schema cannot be rendered: %v", err))
	}
	if s.preserve {
		out.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	}
	if len(s.selectable) > 0 {
		out.AddExtension("x-kubernetes-selectable-fields", s.selectable)
	}
	return out
}

// Complete removes unknown fields from an object, in place, and returns their paths; it sets defaults.
func (s *schema) Complete(object map[string]any) (unknown []string, err error) {
	plainNumbers(object)
	apiVersion, kind, metadata := object["apiVersion"], object["kind"], object["metadata"]
	if !s.preserve {
		unknown = pruning.PruneWithOptions(object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	}
	if failed, paths := objectmeta.CoerceWithOptions(nil, object, s.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); failed != nil {
		return nil, failed
	} else if len(paths) > 0 {
		unknown = append(unknown, paths...)
	}
	s.setDefaults(object)
	object["apiVersion"], object["kind"], object["metadata"] = apiVersion, kind, metadata
	return unknown, nil
}

// prune removes unknown fields, in place.
func (s *schema) prune(object map[string]any) {
	if !s.preserve {
		pruning.Prune(object, s.structural, true)
	}
}

// setDefaults sets the defaults of missing fields, in place.
func (s *schema) setDefaults(object map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
}

func hasDefaults(s *structuralschema.Structural) bool {
	found := false
	visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		found = found || s.Default.Object != nil
		return false
	}}
	visitor.Visit(s.DeepCopy())
	return found
}

// Validate checks a completed object against the schema and its rules, as an update of old if that is not nil: a field that does not
// change may stay invalid (ratcheting).
func (s *schema) Validate(ctx context.Context, object, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	var rules []cel.Option
	if old == nil {
		errs = validation.ValidateCustomResource(nil, object, s.whole)
	} else {
		plainNumbers(old)
		correlated := common.NewCorrelatedObject(object, old, &model.Structural{Structural: s.structural})
		errs = validation.ValidateCustomResourceUpdate(nil, object, old, s.whole, validation.WithRatcheting(correlated))
		rules = append(rules, cel.WithRatcheting(correlated))
	}
	errs = append(errs, s.validateScale(object)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, object, s.structural, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, s.structural, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	}
	if s.rules == nil || len(errs) > 0 {
		return errs // the rules may rely on the schema
	}
	var before any
	if old != nil {
		before = old
	}
	broken, _ := s.rules.Validate(ctx, nil, s.structural, object, before, celconfig.RuntimeCELCostBudget, rules...)
	return broken
}

// CheckField implements resource.Schema.
func (s *schema) CheckField(path []string) error {
	at := s.structural
	for i, member := range path {
		if s.preserve || at.XPreserveUnknownFields {
			return nil
		}
		next, ok := at.Properties[member]
		if !ok {
			if at.AdditionalProperties == nil || at.AdditionalProperties.Structural == nil {
				return resource.UnknownField(path, i, slices.Collect(maps.Keys(at.Properties)))
			}
			next = *at.AdditionalProperties.Structural
		}
		at = &next
	}
	if at.XIntOrString || slices.Contains([]string{"string", "integer", "number", "boolean"}, at.Type) {
		return nil
	}
	return resource.UnknownField(path, len(path), slices.Collect(maps.Keys(at.Properties)))
}

// validateScale checks that the replicas of the scale subresource are an int32.
func (s *schema) validateScale(object map[string]any) (errs field.ErrorList) {
	if s.scale == nil {
		return nil
	}
	for _, path := range [][]string{s.scale.SpecReplicas, s.scale.StatusReplicas} {
		replicas, _, err := unstructured.NestedInt64(object, path...)
		where := field.NewPath("." + strings.Join(path, ".")) // as in kube-apiserver
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(where, replicas, err.Error()))
		case replicas < 0:
			errs = append(errs, field.Invalid(where, replicas, "should be a non-negative integer"))
		case replicas > math.MaxInt32:
			errs = append(errs, field.Invalid(where, replicas, fmt.Sprintf("should be less than or equal to %d", math.MaxInt32)))
		}
	}
	return errs
}

// plainNumbers replaces each json.Number by a float64, in place, because schemas check int64 and float64 only.
func plainNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = plainNumbers(member)
		}
	case []any:
		for i, element := range value {
			value[i] = plainNumbers(element)
		}
	case json.Number:
		if f, err := value.Float64(); err == nil {
			return f
		}
	}
	return value
}
