package gateway

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
)

// patch changes an object by the patch in the body of a request.
func (s *store) patch(ctx context.Context, wr *writeRequest) (writeResult, error) {
	if wr.patchType == types.ApplyYAMLPatchType {
		return s.apply(ctx, wr)
	}
	return s.updateObject(ctx, wr, wr.applyPatch)
}

// applyPatch makes the new state of an object from the patch.
func (wr *writeRequest) applyPatch(old document) (document, error) {
	before, err := old.MarshalJSON()
	if err == nil {
		before, err = toView(wr.Ref, before)
	}
	if err != nil {
		return document{}, err
	}
	var after []byte
	switch wr.patchType {
	case types.JSONPatchType:
		after, err = patch.JSON(before, wr.body)
	case types.MergePatchType:
		after, err = patch.Merge(before, wr.body)
	default:
		after, err = patch.Strategic(before, wr.body, wr.ViewKind().GoType)
	}
	if err != nil {
		return document{}, patchError(err)
	}
	d, err := wr.decodePatched(before, after)
	if err != nil {
		return document{}, err
	}
	if d.GetResourceVersion() == "" { // the patch removed it: the new state is based on old
		d.SetResourceVersion(old.GetResourceVersion())
	}
	if err = wr.prepareUpdate(d); err != nil {
		return document{}, err
	}
	return applyView(wr.Ref, old, d)
}

// decodePatched decodes the result of a patch. Unknown fields that the object had before are not refused.
func (wr *writeRequest) decodePatched(before, after []byte) (document, error) {
	decoded, err := codec.Decode("", after) // with the limits of a body: a small patch can make a large document
	if err != nil {
		return document{}, patchError(err)
	}
	d := newDocument(decoded.Object)
	if err = d.checkKind(wr.ViewKind(), after); err != nil {
		return document{}, err
	}
	if err = d.checkTypes(wr.ViewKind()); err != nil {
		return document{}, wr.invalidPatch(err)
	}
	warnings := d.fieldWarnings
	if len(warnings) > 0 {
		old, err := jsontext.Unmarshal(before)
		if err != nil {
			return document{}, err
		}
		warnings = d.fieldWarningsSince(newDocument(old), wr.ViewKind())
	}
	if sent, err := codec.Decode("", wr.body); err == nil { // an object, thus not a JSON patch
		warnings = append(duplicateFields(sent.Duplicates), warnings...)
	}
	return d, wr.validateFields(warnings, wr.invalidPatch)
}

// invalidPatch refuses a patch because its result is invalid.
func (wr *writeRequest) invalidPatch(err error) error {
	const maxExcerpt = 1024
	text := strings.ToValidUTF8(string(wr.body[:min(len(wr.body), maxExcerpt)]), "�")
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), text, err.Error())})
}

// patchError is the refusal of a patch that cannot be applied.
func patchError(err error) error {
	switch {
	case errors.Is(err, patch.ErrTooLarge):
		return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, err.Error())}
	case errors.Is(err, patch.ErrFailed):
		status := newStatus(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"the server rejected our request due to an error in our request: "+err.Error())
		status.Details = &metav1.StatusDetails{}
		return &apierrors.StatusError{ErrStatus: *status}
	case errors.Is(err, patch.ErrMalformed):
		return badRequest("invalid JSON patch: %v", err)
	case errors.Is(err, patch.ErrNotObject):
		return badRequest("error decoding patch: %v", err)
	}
	return badRequest("%v", err)
}
