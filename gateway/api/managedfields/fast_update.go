package managedfields

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/api/object"
	"revtail/gateway/resource"
)

// maxUpdaters bounds the entries of updates in managedFields.
const maxUpdaters = 10

// entry is an element of managedFields.
type entry struct {
	manager, operation, apiVersion, subresource string
	time                                        time.Time
	fields                                      map[string]any
	document                                    map[string]any // the entry in the object; nil: the entry has changed
}

// parseEntries decodes managedFields. False: they differ from those that revtail writes for the resource.
func parseEntries(res *resource.Resource, managedFields any) ([]entry, bool) {
	list, ok := managedFields.([]any)
	if managedFields != nil && !ok {
		return nil, false
	}
	entries := make([]entry, 0, len(list)+1)
	for _, item := range list {
		e, ok := parseEntry(item)
		if !ok || e.apiVersion != res.APIVersion() || slices.ContainsFunc(entries, e.sameAs) {
			return nil, false
		}
		entries = append(entries, e)
	}
	return entries, true
}

func parseEntry(item any) (e entry, ok bool) {
	e.document, _ = item.(map[string]any)
	e.fields, _ = e.document["fieldsV1"].(map[string]any)
	read := 1
	text := func(name string) string {
		text, is := e.document[name].(string)
		if is {
			read++
		}
		return text
	}
	e.manager, e.operation, e.apiVersion, e.subresource = text("manager"), text("operation"), text("apiVersion"), text("subresource")
	if at := text("time"); at != "" {
		var err error
		if e.time, err = time.Parse(time.RFC3339, at); err != nil {
			return e, false
		}
	}
	ok = text("fieldsType") == "FieldsV1" && len(e.fields) > 0 && (e.operation == updateOperation || e.operation == applyOperation)
	return e, ok && read == len(e.document)
}

const (
	updateOperation = string(metav1.ManagedFieldsOperationUpdate)
	applyOperation  = string(metav1.ManagedFieldsOperationApply)
)

func (e *entry) sameAs(other entry) bool {
	return e.manager == other.manager && e.operation == other.operation && e.subresource == other.subresource
}

// updateEntries adds the changed fields to the entry of their manager, and removes them from the others.
func updateEntries(entries []entry, c *comparison, by entry) []entry {
	mine := slices.IndexFunc(entries, by.sameAs)
	for i := range entries {
		e := &entries[i]
		for _, gone := range []*fieldSet{&c.changed, &c.removed} {
			if i == mine && gone == &c.changed {
				continue // the manager keeps them
			}
			if e.fields != nil && overlaps(e.fields, gone) {
				e.fields, e.document = difference(e.fields, gone), nil
			}
		}
	}
	if !c.changed.empty() {
		if mine < 0 {
			mine = len(entries)
			entries = append(entries, by)
		}
		e := &entries[mine]
		e.time, e.document = by.time, nil
		if len(e.fields) == 0 {
			e.fields = c.changed.managed()
		} else if !covers(e.fields, &c.changed) {
			e.fields = union(e.fields, &c.changed)
		}
	}
	return slices.DeleteFunc(entries, func(e entry) bool { return len(e.fields) == 0 })
}

// managedFields encodes entries in the order of the library.
func managedFields(entries []entry) []any {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.time.Unix(), b.time.Unix()), cmp.Compare(a.manager, b.manager),
			cmp.Compare(a.subresource, b.subresource))
	})
	out := make([]any, len(entries))
	for i, e := range entries {
		if e.document == nil {
			e.document = map[string]any{"manager": e.manager, "operation": e.operation, "apiVersion": e.apiVersion,
				"fieldsType": "FieldsV1", "fieldsV1": e.fields}
			if !e.time.IsZero() {
				e.document["time"] = e.time.UTC().Format(time.RFC3339)
			}
			if e.subresource != "" {
				e.document["subresource"] = e.subresource
			}
		}
		out[i] = e.document
	}
	return out
}

// fastUpdate does the work of the library's Update for common objects and managedFields. False: it does not support them, and has not
// changed next.
func (m *Managers) fastUpdate(by Change, old, next object.Object) bool {
	types := m.load()
	if types.schema == nil || by.Subresource == resource.ScaleSubresource || old.GetAPIVersion() != next.GetAPIVersion() {
		return false
	}
	stored, sent := old.Metadata()["managedFields"], next.Metadata()["managedFields"]
	if by.whole() && sent != nil && !object.EqualJSON(sent, stored) {
		return false // the client sets them
	}
	entries, ok := parseEntries(m.resource, stored)
	switch {
	case !ok:
		return false
	case len(entries) == 0 && old.GetUID() != "":
		next.DeleteMetadata("managedFields") // the object has had no managers from the beginning
		return true
	}
	c := &comparison{schema: types.schema}
	for _, e := range entries {
		if !c.isAtomicFree(types.root, e.fields) {
			return false
		}
	}
	tracked := func(member string) bool { return m.tracksMember(by, member) }
	if !c.object(types.root, old.Object, next.Object, tracked) {
		return false
	}
	entries = updateEntries(entries, c, entry{manager: cmp.Or(by.Manager, "unknown"), operation: updateOperation,
		apiVersion: m.resource.APIVersion(), subresource: by.Subresource, time: time.Now()})
	if tooManyUpdaters(entries) {
		return false
	}
	next.DeleteMetadata("managedFields")
	if len(entries) > 0 {
		next.Metadata()["managedFields"] = managedFields(entries)
	}
	return true
}

// tracksMember reports whether a change at its URL can change a member of the object.
func (m *Managers) tracksMember(by Change, member string) bool {
	if !by.whole() {
		return member == by.Subresource
	}
	return member != resource.StatusSubresource || !m.resource.Status
}

// tooManyUpdaters reports whether the library would merge entries of old updates into one.
func tooManyUpdaters(entries []entry) bool {
	n := 0
	for _, e := range entries {
		if e.operation == updateOperation {
			n++
		}
	}
	return n > maxUpdaters
}
