package changes

import (
	"encoding/json"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manager is the field manager of a change, as managedFields have it. The zero Manager is unknown.
type Manager struct {
	Name        string `json:"manager,omitempty"`
	Operation   string `json:"operation,omitempty"` // Apply or Update
	Subresource string `json:"subresource,omitempty"`
}

// ManagerOf returns the manager of the change between two states of an object, as JSON: the last one of those whose entry the change has added or
// altered. The time of an entry has no fractions of a second. If no entry differs, it is the last one of all, unless two have the same time.
func ManagerOf(before, after []byte) Manager {
	earlier, present := managedFields(before), managedFields(after)
	altered := slices.DeleteFunc(slices.Clone(present), func(e metav1.ManagedFieldsEntry) bool { return known(earlier, e) })
	if len(altered) == 0 {
		return newestOf(present, true)
	}
	// A manager from which another one has taken fields keeps its time.
	written := slices.DeleteFunc(slices.Clone(altered), func(e metav1.ManagedFieldsEntry) bool { return hadTime(earlier, e) })
	if len(written) == 0 {
		return newestOf(altered, false)
	}
	return newestOf(written, false)
}

// hadTime reports whether the entry of the same manager has had the same time before.
func hadTime(earlier []metav1.ManagedFieldsEntry, e metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(earlier, func(was metav1.ManagedFieldsEntry) bool {
		return was.Manager == e.Manager && was.Operation == e.Operation && was.Subresource == e.Subresource && was.APIVersion == e.APIVersion && was.Time.Equal(e.Time)
	})
}

// newestOf returns the manager of the newest entry; alone: none, if another one has its time.
func newestOf(entries []metav1.ManagedFieldsEntry, alone bool) (found Manager) {
	var last *metav1.Time
	for _, entry := range entries {
		switch {
		case entry.Time.Before(last) && last != nil:
		case alone && found.Name != "" && entry.Time.Equal(last):
			found = Manager{}
		default:
			found, last = Manager{entry.Manager, string(entry.Operation), entry.Subresource}, entry.Time
		}
	}
	return found
}

func managedFields(state []byte) []metav1.ManagedFieldsEntry {
	var object struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(state, &object) != nil {
		return nil
	}
	return object.Metadata.ManagedFields
}

// known reports whether entries have an equal one.
func known(entries []metav1.ManagedFieldsEntry, entry metav1.ManagedFieldsEntry) bool {
	for _, e := range entries {
		if reflect.DeepEqual(e, entry) {
			return true
		}
	}
	return false
}
