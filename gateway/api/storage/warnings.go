package storage

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// maxWarnings bounds the Warning headers of each kind in one response.
	maxWarnings = 20
	// maxWarning bounds the bytes of one, because it may have the name of a field.
	maxWarning = 1024
)

// warn adds a warning, once: a write that is tried again repeats it.
func (wr *Request) warn(text string) {
	if len(text) > maxWarning {
		text = strings.ToValidUTF8(text[:maxWarning], "") + "…"
	}
	if !slices.Contains(wr.Warnings, text) {
		wr.Warnings = append(wr.Warnings, text)
	}
}

// warnAll adds the first warnings, and says how many more there are of what.
func (wr *Request) warnAll(texts []string, what string) {
	for _, text := range texts[:min(len(texts), maxWarnings)] {
		wr.warn(text)
	}
	if more := len(texts) - maxWarnings; more > 0 {
		wr.warn(fmt.Sprintf("%d more %s", more, what))
	}
}

// validateFields handles unknown and duplicate fields as fieldValidation says: it returns the error that refuse makes, warns, or does
// nothing.
func (wr *Request) validateFields(found []string, refuse func(error) error) error {
	if len(found) == 0 || wr.Validation == metav1.FieldValidationIgnore {
		return nil
	}
	if wr.Validation == metav1.FieldValidationStrict {
		return refuse(fmt.Errorf("strict decoding error: %s", strings.Join(found, ", ")))
	}
	wr.warnAll(found, "fields are unknown or duplicate")
	return nil
}

// newFinalizers returns the finalizers that an object did not have before.
func newFinalizers(old, finalizers []string) []string {
	had := sets.New(old...)
	return slices.DeleteFunc(slices.Clone(finalizers), had.Has)
}

// warnFinalizers warns of finalizers whose names are not qualified by a domain.
func (wr *Request) warnFinalizers(added []string) {
	var texts []string
	for _, name := range added {
		if !strings.Contains(name, "/") && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents {
			texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) "+
				"to avoid accidental conflicts with other finalizer writers", name))
		}
	}
	wr.warnAll(texts, "finalizers are not qualified by a domain")
}
