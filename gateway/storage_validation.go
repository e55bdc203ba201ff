package gateway

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// decode reads the body of a create or an update, which must be an object of the kind that the client sees.
func (wr *writeRequest) decode() (document, error) {
	d, err := decodeDocument(wr.ViewKind(), wr.contentType, wr.body)
	if err != nil {
		return document{}, err
	}
	return d, wr.validateFields(d.fieldWarnings, func(err error) error { return cannotHandle(wr.ViewKind(), err) })
}

// maxFieldWarnings bounds the Warning headers of one answer.
const maxFieldWarnings = 20

// validateFields treats unknown and duplicate fields as the client asks: it refuses them, as refuse words it, warns or ignores.
func (wr *writeRequest) validateFields(found []string, refuse func(error) error) error {
	if len(found) == 0 || wr.validation == metav1.FieldValidationIgnore {
		return nil
	}
	if wr.validation == metav1.FieldValidationStrict {
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

// warnFinalizers warns of new finalizers whose name another program may use for something else.
func (wr *writeRequest) warnFinalizers(old, finalizers []string) {
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

// updateManagedFields records the changes from old to next as those of the client. To apply a configuration is to record them.
func (wr *writeRequest) updateManagedFields(old, next document) {
	if wr.patchType != types.ApplyYAMLPatchType {
		wr.fields.update(wr.change(), old, next)
	}
}

func (wr *writeRequest) change() change {
	return change{manager: wr.manager, subresource: wr.Subresource}
}
