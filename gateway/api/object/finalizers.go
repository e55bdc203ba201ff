package object

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSpecFinalizers validates the finalizers in the spec of a Namespace.
func ValidateSpecFinalizers(finalizers []string) (errs field.ErrorList) {
	path := field.NewPath("spec", "finalizers")
	for i, name := range finalizers {
		errs = append(errs, validation.ValidateFinalizerName(name, path.Index(i))...)
		if !strings.Contains(name, "/") && name != string(corev1.FinalizerKubernetes) &&
			name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents {
			errs = append(errs, field.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
