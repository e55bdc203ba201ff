package storage

import (
	"context"
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/codec"
	"revtail/encoding/jsontext"
	"revtail/encoding/patch"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
)

// Patch changes an object by the patch in the body of a request.
func (s *Store) Patch(ctx context.Context, wr *Request) (Result, error) {
	if wr.PatchType == types.ApplyYAMLPatchType {
		return s.apply(ctx, wr)
	}
	return s.updateObject(ctx, wr, wr.applyPatch)
}

// applyPatch returns the patched object.
func (wr *Request) applyPatch(old object.Object) (object.Object, error) {
	before, err := old.MarshalJSON()
	if err == nil {
		before, err = object.ToView(wr.Ref, before)
	}
	if err != nil {
		return object.Object{}, err
	}
	var after []byte
	switch wr.PatchType {
	case types.JSONPatchType:
		after, err = patch.JSON(before, wr.Body)
	case types.MergePatchType:
		after, err = patch.Merge(before, wr.Body)
	default:
		after, err = patch.Strategic(before, wr.Body, wr.ViewKind().GoType)
	}
	if err != nil {
		return object.Object{}, patchError(err)
	}
	d, err := wr.decodePatched(before, after)
	if err != nil {
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

// decodePatched decodes the result of a patch. It refuses only unknown fields that the object did not have before.
func (wr *Request) decodePatched(before, after []byte) (object.Object, error) {
	decoded, err := codec.Decode("", after) // with the limits of a body, because a small patch can make a large object
	if err != nil {
		return object.Object{}, patchError(err)
	}
	d := object.New(decoded.Object)
	if err = d.CheckKind(wr.ViewKind(), after); err != nil {
		return object.Object{}, err
	}
	if err = d.CheckTypes(wr.ViewKind()); err != nil {
		return object.Object{}, wr.invalidPatch(err)
	}
	warnings := d.FieldWarnings
	if len(warnings) > 0 {
		old, err := jsontext.Unmarshal(before)
		if err != nil {
			return object.Object{}, err
		}
		warnings = d.FieldWarningsSince(object.New(old), wr.ViewKind())
	}
	if sent, err := codec.Decode("", wr.Body); err == nil { // an object, thus not a JSON patch
		warnings = append(object.DuplicateFields(sent.Duplicates), warnings...)
	}
	return d, wr.validateFields(warnings, wr.invalidPatch)
}

// invalidPatch refuses a patch because its result is invalid.
func (wr *Request) invalidPatch(err error) error {
	const maxExcerpt = 1024
	text := strings.ToValidUTF8(string(wr.Body[:min(len(wr.Body), maxExcerpt)]), "�")
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), text, err.Error())})
}

// patchError returns the Status of a patch that cannot be applied.
func patchError(err error) error {
	switch {
	case errors.Is(err, patch.ErrTooLarge):
		return status.Error(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, err.Error())
	case errors.Is(err, patch.ErrFailed):
		refused := status.Error(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"the server rejected our request due to an error in our request: "+err.Error())
		refused.ErrStatus.Details = &metav1.StatusDetails{}
		return refused
	case errors.Is(err, patch.ErrMalformed):
		return status.BadRequest("invalid JSON patch: %v", err)
	case errors.Is(err, patch.ErrNotObject):
		return status.BadRequest("error decoding patch: %v", err)
	}
	return status.BadRequest("%v", err)
}
