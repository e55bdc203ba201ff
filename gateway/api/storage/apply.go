package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"revtail/encoding/codec"
	"revtail/gateway/api/managedfields"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// apply merges the configuration in the body into an object (server-side apply), or creates the object.
func (s *Store) apply(ctx context.Context, wr *Request) (Result, error) {
	applied, err := wr.decodeApplied()
	if err != nil {
		return Result{}, err
	}
	change := func(old object.Object) (object.Object, error) { return wr.merge(applied, old) }
	if wr.Subresource != "" {
		return s.Change(ctx, wr, change)
	}
	return s.updateOrCreate(ctx, wr, change, func() (object.Object, error) {
		if applied.GetResourceVersion() != "" {
			return object.Object{}, status.ObjectModified(wr.Ref)
		}
		if uid := applied.GetUID(); uid != "" {
			return object.Object{}, apierrors.NewConflict(wr.GroupResource(), wr.Scope.Name, fmt.Errorf(
				"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		return wr.merge(applied, object.Empty(wr.Resource))
	})
}

// decodeApplied decodes the configuration in the body, a part of an object in YAML or JSON.
func (wr *Request) decodeApplied() (object.Object, error) {
	contentType := codec.YAML
	if json.Valid(wr.Body) {
		contentType = codec.JSON
	}
	decoded, err := codec.Decode(contentType, wr.Body)
	if err != nil {
		return object.Object{}, status.BadRequest("error decoding YAML: %v", err)
	}
	d := object.New(decoded.Object)
	d.FieldWarnings = object.DuplicateFields(decoded.Duplicates)
	kind := wr.ViewKind()
	want := schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
	if found := d.GroupVersionKind(); found != want {
		return object.Object{}, status.BadRequest("invalid object type: %v", found)
	}
	if _, ok := d.Object["metadata"].(map[string]any); !ok && d.Object["metadata"] != nil {
		return object.Object{}, status.BadRequest("metadata must be an object")
	}
	if d.Metadata()["managedFields"] != nil {
		return object.Object{}, status.BadRequest("metadata.managedFields must be nil")
	}
	return d, nil
}

// merge applies a configuration to an object, which may be empty.
func (wr *Request) merge(applied, old object.Object) (object.Object, error) {
	merge := wr.mergeFields
	if wr.Resource.Mount != nil {
		merge = wr.mergeMounted
	}
	d, err := merge(applied, old)
	if err != nil {
		return object.Object{}, err
	}
	if !d.SameAs(old) { // otherwise it gets no defaults, as in kube-apiserver
		if err = d.CheckTypes(wr.Resource); err != nil {
			return object.Object{}, wr.invalidPatch(err)
		}
	}
	if err = wr.validateApplied(applied, d.FieldWarningsSince(old, wr.Resource)); err != nil {
		return object.Object{}, err
	}
	if err = wr.checkName(d); err != nil || wr.Subresource == resource.ScaleSubresource { // mergeFields has merged a Scale into the object itself
		return d, err
	}
	return object.ApplyView(wr.Ref, old, d)
}

// validateApplied handles the duplicate fields of a configuration, and those that the schema of its kind lacks. The errors have the words of
// kube-apiserver's parsers.
func (wr *Request) validateApplied(applied object.Object, unknown []string) error {
	if len(unknown) > 0 { // at every level of field validation, as in a cluster: they would have no manager
		return wr.undeclaredFields(applied, unknown)
	}
	return wr.validateFields(applied.FieldWarnings, func(err error) error {
		if strict := yaml.UnmarshalStrict(wr.Body, &map[string]any{}); strict != nil {
			err = strict // which has the lines
		}
		return status.BadRequest("error strict decoding patch: %v", err)
	})
}

// undeclaredFields returns the error of a configuration with unknown fields.
func (wr *Request) undeclaredFields(applied object.Object, unknown []string) error {
	errs := make([]string, len(unknown))
	for i, warning := range unknown {
		path := strings.TrimPrefix(warning, "unknown field ")
		if unquoted, err := strconv.Unquote(path); err == nil {
			path = unquoted
		}
		errs[i] = "." + path + ": field not declared in schema"
	}
	message := errs[0]
	if len(errs) > 1 {
		message = "errors:\n  " + strings.Join(errs, "\n  ")
	}
	return status.BadRequest("failed to create typed patch object (%s/%s; %v): %s", applied.GetNamespace(), applied.GetName(), applied.GroupVersionKind(), message)
}

// mergeFields merges a configuration field by field. A field of another manager is a conflict, unless the request forces the change.
func (wr *Request) mergeFields(applied, old object.Object) (object.Object, error) {
	configuration, err := object.FromView(wr.Ref, applied)
	if err != nil {
		return object.Object{}, err
	}
	merged, err := wr.Cache.Fields.Apply(wr.change(), old, configuration, wr.Force)
	if limit, ok := errors.AsType[*managedfields.LimitError](err); ok {
		return object.Object{}, object.TooLarge(limit.Error())
	}
	_, unconverted := errors.AsType[*resource.ConversionError](err)
	if st := apierrors.APIStatus(nil); err != nil && !unconverted && !errors.As(err, &st) {
		return object.Object{}, status.BadRequest("%v", err)
	}
	return merged, err
}
