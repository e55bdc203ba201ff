package object

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

// Warnings are texts for the client, each of them once: a write that is tried again repeats them.
type Warnings []string

// Add adds the first texts, and says how many more there are of what.
func (w *Warnings) Add(texts []string, what string) {
	for _, text := range texts[:min(len(texts), maxWarnings)] {
		w.add(text)
	}
	if more := len(texts) - maxWarnings; more > 0 {
		w.add(fmt.Sprintf("%d more %s", more, what))
	}
}

func (w *Warnings) add(text string) {
	if len(text) > maxWarning {
		text = strings.ToValidUTF8(text[:maxWarning], "") + "…"
	}
	if !slices.Contains(*w, text) {
		*w = append(*w, text)
	}
}

// AddFinalizers warns of finalizers whose names are not qualified by a domain.
func (w *Warnings) AddFinalizers(added []string) {
	var texts []string
	for _, name := range added {
		if !strings.Contains(name, "/") && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents {
			texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) "+
				"to avoid accidental conflicts with other finalizer writers", name))
		}
	}
	w.Add(texts, "finalizers are not qualified by a domain")
}

// NewFinalizers returns the finalizers that an object did not have before.
func NewFinalizers(old, finalizers []string) []string {
	had := sets.New(old...)
	return slices.DeleteFunc(slices.Clone(finalizers), had.Has)
}
