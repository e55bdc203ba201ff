package gateway

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

// maxManagers is how many managers that update an object managedFields tell apart.
const maxManagers = 10

// entry is one of managedFields.
type entry struct {
	manager, operation, apiVersion, subresource string
	time                                        time.Time
	fields                                      map[string]any
	document                                    map[string]any // as it stands in the object; nil: it is to be written
}

// parseEntries reads managedFields. False: they are not as this server writes them for the resource.
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
	ok = text("fieldsType") == "FieldsV1" && len(e.fields) > 0 && (e.operation == updating || e.operation == applying)
	return e, ok && read == len(e.document)
}

const (
	updating = string(metav1.ManagedFieldsOperationUpdate)
	applying = string(metav1.ManagedFieldsOperationApply)
)

func (e *entry) sameAs(other entry) bool {
	return e.manager == other.manager && e.operation == other.operation && e.subresource == other.subresource
}

// updateEntries enters what a manager has changed, and takes it from the others.
func updateEntries(entries []entry, c *comparison, by entry) []entry {
	mine := slices.IndexFunc(entries, by.sameAs)
	for i := range entries {
		e := &entries[i]
		for _, gone := range []*fieldSet{&c.changed, &c.removed} {
			if i == mine && gone == &c.changed {
				continue // they stay mine
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

// managedFields are the entries as an object has them, in the order of apimachinery.
func managedFields(entries []entry) []any {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.seconds(), b.seconds()), cmp.Compare(a.manager, b.manager),
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

func (e *entry) seconds() int64 {
	if e.time.IsZero() {
		return 0
	}
	return e.time.Unix()
}

// account does what the field managers do, for objects and managedFields in which there is nothing unusual. False: there
// is, and next is as it was.
func (wr *writeRequest) account(old, next document) bool {
	accounts := wr.fields()
	if accounts.schema == nil || wr.Subresource == resource.ScaleSubresource || old.GetAPIVersion() != next.GetAPIVersion() {
		return false
	}
	stands, sent := old.metadata()["managedFields"], next.metadata()["managedFields"]
	if wr.Subresource == "" && sent != nil && !equalJSON(sent, stands) {
		return false // somebody sets them
	}
	entries, ok := parseEntries(wr.Resource, stands)
	switch {
	case !ok:
		return false
	case len(entries) == 0 && old.GetUID() != "":
		next.drop("managedFields") // nobody has been asked who manages what, from the beginning
		return true
	}
	c := &comparison{schema: accounts.schema}
	for _, e := range entries {
		if !c.granular(accounts.root, e.fields) {
			return false
		}
	}
	if !c.object(accounts.root, old.Object, next.Object, wr.accountsFor) {
		return false
	}
	entries = updateEntries(entries, c, entry{manager: cmp.Or(wr.manager, "unknown"), operation: updating,
		apiVersion: wr.Resource.APIVersion(), subresource: wr.Subresource, time: time.Now()})
	if isCrowded(entries) {
		return false
	}
	next.drop("managedFields")
	if len(entries) > 0 {
		next.metadata()["managedFields"] = managedFields(entries)
	}
	return true
}

// accountsFor tells whether a write can change what stands in a member of the object.
func (wr *writeRequest) accountsFor(member string) bool {
	if wr.Subresource != "" {
		return member == wr.Subresource
	}
	return member != resource.StatusSubresource || !wr.Resource.Status
}

// isCrowded tells whether there are more updating managers than are told apart.
func isCrowded(entries []entry) bool {
	n := 0
	for _, e := range entries {
		if e.operation == updating {
			n++
		}
	}
	return n > maxManagers
}
