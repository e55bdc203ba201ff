package managedfields

import (
	"errors"
	"fmt"
	"testing"

	"revtail/gateway/api/object"
	"revtail/gateway/resource"
)

// pod returns a Pod with labels, arguments of a container, and managedFields of several versions.
func pod(labels, args, versions int) object.Object {
	label, arg := map[string]any{}, make([]any, args)
	for i := range labels {
		label[fmt.Sprint("l", i)] = ""
	}
	for i := range args {
		arg[i] = "a"
	}
	metadata := map[string]any{"name": "a", "uid": "u", "labels": label}
	if versions > 0 {
		entries := make([]any, versions)
		for i := range entries {
			entries[i] = map[string]any{"manager": "m", "operation": "Update", "apiVersion": fmt.Sprint("v", i+1), "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{"f:spec": map[string]any{}}}
		}
		metadata["managedFields"] = entries
	}
	return object.New(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "args": arg}}}})
}

// podWithEnv returns a Pod with a list whose elements have keys.
func podWithEnv(n int) object.Object {
	env := make([]any, n)
	for i := range env {
		env[i] = map[string]any{"name": fmt.Sprint("e", i)}
	}
	return object.New(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "uid": "u"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": env}}}})
}

// TestLimits checks which objects server-side apply refuses, and that updates of these are still possible.
func TestLimits(t *testing.T) {
	m := New(resource.NewRegistry(resource.Builtin()).Lookup("", "v1", "pods"))
	configuration := object.New(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}})
	for _, test := range []struct {
		name    string
		old     object.Object
		limited bool
	}{
		{"as many members as possible", pod(maxMembers-1, 0, 0), false},
		{"too many members", pod(maxMembers+1, 0, 0), true},
		{"as many elements as possible", podWithEnv(maxMembers/keyedWeight - 1), false},
		{"too many elements", podWithEnv(maxMembers/keyedWeight + 1), true},
		{"a list that is replaced as a whole", pod(1, 4*maxMembers, 0), false},
		{"as many versions as possible", pod(1, 0, maxVersions-1), false},
		{"too many versions", pod(1, 0, maxVersions+1), true},
	} {
		_, err := m.Apply(Change{Manager: "m"}, test.old, configuration, false)
		if _, limited := errors.AsType[*LimitError](err); limited != test.limited || err != nil && !limited {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	old := pod(1, 0, maxVersions+1)
	next := old.Copy()
	next.SetLabels(map[string]string{"b": "c"})
	if m.Update(Change{Manager: "m"}, old, next); !object.EqualJSON(next.Metadata()["managedFields"], old.Metadata()["managedFields"]) {
		t.Errorf("managedFields have changed: %v", next.Metadata()["managedFields"])
	}
}
