package storage

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/gateway/api/managedfields"
	"revtail/gateway/api/object"
)

// Decode decodes the body of a create or an update, which must be an object of the kind of the URL's representation.
func (wr *Request) Decode() (object.Object, error) {
	d, err := object.Decode(wr.ViewKind(), wr.ContentType, wr.Body)
	if err != nil {
		return object.Object{}, err
	}
	return d, wr.validateFields(d.FieldWarnings, func(err error) error { return object.CannotHandle(wr.ViewKind(), err) })
}

// maxFieldWarnings bounds the Warning headers of one response.
const maxFieldWarnings = 20

// validateFields handles unknown and duplicate fields as fieldValidation says: it returns the error that refuse makes, warns, or does
// nothing.
func (wr *Request) validateFields(found []string, refuse func(error) error) error {
	if len(found) == 0 || wr.Validation == metav1.FieldValidationIgnore {
		return nil
	}
	if wr.Validation == metav1.FieldValidationStrict {
		return refuse(fmt.Errorf("strict decoding error: %s", strings.Join(found, ", ")))
	}
	for _, warning := range found[:min(len(found), maxFieldWarnings)] {
		wr.warn(warning)
	}
	if more := len(found) - maxFieldWarnings; more > 0 {
		wr.warn(fmt.Sprintf("%d more fields are unknown or duplicate", more))
	}
	return nil
}

// warnFinalizers warns of new finalizers whose names are not qualified by a domain.
func (wr *Request) warnFinalizers(old, finalizers []string) {
	for _, name := range finalizers {
		if slices.Contains(old, name) {
			continue
		}
		if !strings.Contains(name, "/") && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents {
			wr.warn(fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) "+
				"to avoid accidental conflicts with other finalizer writers", name))
		}
	}
}

// updateManagedFields records the changes from old to next as the client's. An apply has recorded them already.
func (wr *Request) updateManagedFields(old, next object.Object) {
	if wr.PatchType != types.ApplyYAMLPatchType {
		wr.Cache.Fields.Update(wr.change(), old, next)
	}
}

func (wr *Request) change() managedfields.Change {
	return managedfields.Change{Manager: wr.Manager, Subresource: wr.Subresource}
}
