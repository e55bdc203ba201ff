package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding/codec"
	"revtail/gateway/resource"
)

// apply merges the configuration in the body into an object, whose field manager then manages these fields (server-side apply).
// An object that does not exist is created.
func (s *store) apply(ctx context.Context, wr *writeRequest) (writeResult, error) {
	applied, err := wr.decodeApplied()
	if err != nil {
		return writeResult{}, err
	}
	change := func(old document) (document, error) { return wr.merge(applied, old) }
	if wr.Subresource != "" {
		return s.updateObject(ctx, wr, change)
	}
	return s.updateOrCreate(ctx, wr, change, func() (document, error) {
		if applied.GetResourceVersion() != "" {
			return document{}, objectModified(wr.Ref)
		}
		if uid := applied.GetUID(); uid != "" {
			return document{}, apierrors.NewConflict(wr.GroupResource(), wr.Scope.Name, fmt.Errorf(
				"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		return wr.merge(applied, emptyObject(wr.Resource))
	})
}

// decodeApplied decodes the configuration in the body, a part of an object in YAML or JSON.
func (wr *writeRequest) decodeApplied() (document, error) {
	contentType := codec.YAML
	if json.Valid(wr.body) {
		contentType = codec.JSON
	}
	decoded, err := codec.Decode(contentType, wr.body)
	if err != nil {
		return document{}, badRequest("error decoding YAML: %v", err)
	}
	d := newDocument(decoded.Object)
	d.fieldWarnings = duplicateFields(decoded.Duplicates)
	group, version := wr.ViewKind().Group, wr.ViewKind().Version
	want := schema.GroupVersionKind{Group: group, Version: version, Kind: wr.ViewKind().Kind}
	if found := d.GroupVersionKind(); found != want {
		return document{}, badRequest("invalid object type: %v", found)
	}
	if _, ok := d.Object["metadata"].(map[string]any); !ok && d.Object["metadata"] != nil {
		return document{}, badRequest("metadata must be an object")
	}
	if d.metadata()["managedFields"] != nil {
		return document{}, badRequest("metadata.managedFields must be nil")
	}
	return d, nil
}

// merge applies a configuration to an object, which may be empty.
func (wr *writeRequest) merge(applied, old document) (document, error) {
	merge := wr.mergeFields
	if wr.Resource.Mount != nil {
		merge = wr.mergeMounted
	}
	d, err := merge(applied, old)
	if err != nil {
		return document{}, err
	}
	if err = d.checkTypes(wr.Resource); err != nil {
		return document{}, wr.invalidPatch(err)
	}
	warnings := slices.Concat(applied.fieldWarnings, d.fieldWarningsSince(old, wr.Resource))
	if err = wr.validateFields(warnings, wr.invalidPatch); err != nil {
		return document{}, err
	}
	if err = wr.checkName(d); err != nil || wr.Subresource == resource.ScaleSubresource { // which mergeFields has merged into the object itself
		return d, err
	}
	return applyView(wr.Ref, old, d)
}

// mergeFields merges a configuration field by field. A field of another manager is a conflict, unless the request forces it.
func (wr *writeRequest) mergeFields(applied, old document) (document, error) {
	configuration, err := fromView(wr.Ref, applied)
	if err != nil {
		return document{}, err
	}
	merged, err := wr.fields.apply(wr.change(), old, configuration, wr.force)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return document{}, badRequest("%v", err)
	}
	return merged, err
}
