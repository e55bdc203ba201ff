package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// meta is the metadata, typed, but for managedFields: these are checked by who reads them. An error says which field has the
// wrong type.
func (d document) meta() (*metav1.ObjectMeta, error) {
	metadata := without(d.metadata(), "managedFields")
	if shapeOf(reflect.TypeFor[metav1.ObjectMeta]()).fits(metadata) {
		return &metav1.ObjectMeta{
			Name: d.GetName(), GenerateName: d.GetGenerateName(), Namespace: d.GetNamespace(), UID: d.GetUID(),
			ResourceVersion: d.GetResourceVersion(), Generation: d.GetGeneration(),
			CreationTimestamp: d.GetCreationTimestamp(), DeletionTimestamp: d.GetDeletionTimestamp(),
			DeletionGracePeriodSeconds: d.GetDeletionGracePeriodSeconds(),
			Labels:                     d.GetLabels(), Annotations: d.GetAnnotations(),
			OwnerReferences: d.GetOwnerReferences(), Finalizers: d.GetFinalizers(),
		}, nil
	}
	meta := &metav1.ObjectMeta{}
	return meta, readMeta(metadata, meta)
}

func readMeta(metadata map[string]any, into *metav1.ObjectMeta) error {
	text, err := json.Marshal(metadata)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}

func (d document) metadata() map[string]any {
	metadata, ok := d.Object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		d.Object["metadata"] = metadata
	}
	return metadata
}

// take copies members of another document's metadata, or removes them where the other has none.
func (d document) take(other document, members ...string) {
	for _, member := range members {
		keep(d.metadata(), other.metadata(), member)
	}
}

// keep gives one object the member of another one, or removes it where the other has none.
func keep(object, other map[string]any, member string) {
	if value, ok := other[member]; ok {
		object[member] = value
	} else {
		delete(object, member)
	}
}

// withMember is an object with another value for one member.
func withMember(object map[string]any, name string, value any) map[string]any {
	out := maps.Clone(object)
	out[name] = value
	return out
}

func without(object map[string]any, name string) map[string]any {
	out := maps.Clone(object)
	delete(out, name)
	return out
}

// drop removes members of the metadata.
func (d document) drop(members ...string) {
	for _, member := range members {
		delete(d.metadata(), member)
	}
}

// sameSpec tells whether two documents agree in everything but metadata and, where it has a subresource of its own, status:
// what generation counts.
func (d document) sameSpec(other document, withStatus bool) bool {
	strip := func(o document) map[string]any {
		if withStatus {
			return without(o.Object, "metadata")
		}
		return without(without(o.Object, "metadata"), "status")
	}
	return equalJSON(strip(d), strip(other))
}

// sameAs tells whether two documents say the same. When somebody wrote what he manages is not a part of it: the time alone
// is no change.
func (d document) sameAs(other document) bool {
	return equalBut("metadata", d.Object, other.Object) && equalBut("managedFields", d.metadata(), other.metadata()) &&
		sameManagers(d.metadata()["managedFields"], other.metadata()["managedFields"])
}

func sameManagers(a, b any) bool {
	entries, ok := a.([]any)
	others, both := b.([]any)
	if !ok || !both {
		return equalJSON(a, b)
	}
	return slices.EqualFunc(entries, others, func(a, b any) bool {
		entry, ok := a.(map[string]any)
		other, both := b.(map[string]any)
		if !ok || !both {
			return equalJSON(a, b)
		}
		return equalBut("time", entry, other)
	})
}

// equalBut compares two objects in all members but one.
func equalBut(name string, a, b map[string]any) bool {
	for member, value := range a {
		if other, ok := b[member]; member != name && (!ok || !equalJSON(value, other)) {
			return false
		}
	}
	return countBut(name, a) == countBut(name, b)
}

// countBut is how many members an object has but one.
func countBut(name string, object map[string]any) int {
	if _, ok := object[name]; ok {
		return len(object) - 1
	}
	return len(object)
}

// equalJSON compares values by what would be stored of them.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalJSON)
	case int64, float64, json.Number:
		switch b.(type) {
		case int64, float64, json.Number:
			return a == b || fmt.Sprint(a) == fmt.Sprint(b) // one may have been written as 1, the other as 1.0
		}
		return false
	}
	return a == b
}

// warnFinalizers warns of finalizers that are new and that somebody else could call the same.
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
