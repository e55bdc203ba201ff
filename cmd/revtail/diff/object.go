package diff

import (
	"encoding/json"
	"maps"
)

// omittedFields are left out of differences of objects: the server writes them.
var omittedFields = map[string]bool{
	"apiVersion": true, "kind": true, "metadata.name": true, "metadata.namespace": true, "metadata.managedFields": true,
	"metadata.resourceVersion": true, "metadata.uid": true, "metadata.creationTimestamp": true, "metadata.generation": true,
}

// IsOmitted reports whether a path of an object is left out of differences, because the server writes it.
func IsOmitted(path string) bool { return omittedFields[path] }

// Objects returns the lines that turn an object into another one, without the fields that the server writes; before may be nil. It
// shows which values of a Secret differ, but not the values.
func Objects(before, after []byte) ([]Line, error) {
	before, after, err := maskSecrets(before, after)
	if err != nil {
		return nil, err
	}
	return Documents(before, after, IsOmitted)
}

func maskSecrets(before, after []byte) (maskedBefore, maskedAfter []byte, err error) {
	var typed struct{ APIVersion, Kind string }
	if err = json.Unmarshal(after, &typed); err != nil || typed.Kind != "Secret" || typed.APIVersion != "v1" {
		return before, after, err
	}
	old, err := decode(before)
	if err != nil {
		return nil, nil, err
	}
	next, err := decode(after)
	if err != nil {
		return nil, nil, err
	}
	for _, field := range []string{"data", "stringData"} {
		maskValues(membersOf(old, field), membersOf(next, field))
	}
	if before != nil {
		if before, err = json.Marshal(old); err != nil {
			return nil, nil, err
		}
	}
	after, err = json.Marshal(next)
	return before, after, err
}

func membersOf(object any, field string) map[string]any {
	members, _ := object.(map[string]any)
	values, _ := members[field].(map[string]any)
	return values
}

// maskValues replaces the values of two objects by texts that are equal if the values are.
func maskValues(old, next map[string]any) {
	same := make(map[string]bool)
	for key := range maps.Keys(old) {
		same[key] = next[key] != nil && encode(old[key]) == encode(next[key])
	}
	for key := range old {
		if old[key] = "*** (before)"; same[key] {
			old[key] = "***"
		}
	}
	for key := range next {
		if next[key] = "*** (after)"; same[key] {
			next[key] = "***"
		}
	}
}
