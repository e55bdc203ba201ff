package storage

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding"
	"revtail/encoding/codec"
	"revtail/encoding/patch"
	"revtail/gateway/api/object"
)

// Patch changes an object by the patch in the body of a request.
func (s *Store) Patch(ctx context.Context, wr *Request) (Result, error) {
	if wr.PatchType == types.ApplyYAMLPatchType {
		return s.apply(ctx, wr)
	}
	return s.Change(ctx, wr, func(old object.Object) (object.Object, error) { return wr.applyPatch(ctx, old) })
}

// applyPatch returns the patched object.
func (wr *Request) applyPatch(ctx context.Context, old object.Object) (object.Object, error) {
	before, err := object.CopyView(wr.Ref, old)
	if err != nil {
		return object.Object{}, err
	}
	var after map[string]any
	switch wr.PatchType {
	case types.JSONPatchType:
		after, err = patch.JSON(ctx, before.Object, wr.Body)
	case types.MergePatchType:
		after, err = patch.Merge(ctx, before.Object, wr.Body)
	default:
		after, err = patch.Strategic(ctx, before.Object, wr.Body, wr.ViewKind().GoType)
	}
	if err != nil {
		return object.Object{}, object.PatchError(err)
	}
	d := object.New(after)
	if err = object.CheckSize(d, old); err != nil { // a small patch can make a large object
		return object.Object{}, err
	}
	if err = wr.checkPatched(&d, old); err != nil {
		return object.Object{}, err
	}
	if d.GetResourceVersion() == "" { // the patch removed it: the new state is based on old
		d.SetResourceVersion(old.GetResourceVersion())
	}
	if err = wr.prepareUpdate(d); err != nil {
		return object.Object{}, err
	}
	return object.ApplyView(wr.Ref, old, d)
}

// checkPatched checks the result of a patch. It refuses only unknown fields that the object did not have before.
func (wr *Request) checkPatched(d *object.Object, old object.Object) error {
	d.CompleteKind(wr.ViewKind())
	if err := d.CheckKind(wr.ViewKind(), nil); err != nil {
		text, _ := encoding.Marshal(d.Object) // for the message
		return d.CheckKind(wr.ViewKind(), text)
	}
	if err := d.CheckTypes(wr.ViewKind()); err != nil {
		return wr.invalidPatch(err)
	}
	warnings := d.FieldWarnings
	if len(warnings) > 0 {
		before, err := object.CopyView(wr.Ref, old)
		if err != nil {
			return err
		}
		warnings = d.FieldWarningsSince(before, wr.ViewKind())
	}
	if wr.PatchType == types.JSONPatchType {
		warnings = append(object.JSONPatchWarnings(wr.Body), warnings...)
	} else if sent, err := codec.Decode("", wr.Body); err == nil {
		warnings = append(object.DuplicateFields(sent.Duplicates), warnings...)
	}
	return wr.validateFields(warnings, wr.invalidPatch)
}

// invalidPatch refuses a patch because its result is invalid.
func (wr *Request) invalidPatch(err error) error {
	const maxExcerpt = 1024
	text := strings.ToValidUTF8(string(wr.Body[:min(len(wr.Body), maxExcerpt)]), "�")
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), text, err.Error())})
}
