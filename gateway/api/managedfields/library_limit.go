package managedfields

import (
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"revtail/gateway/api/object"
)

const (
	// maxMembers bounds the members of a map, and the elements of a list that are merged one by one. structured-merge-diff keeps them in
	// a sorted array, into which it inserts each of them, so its time grows with the square of their number.
	maxMembers = 1 << 14
	// keyedWeight and setWeight are how many members an element of a list with keys, and of a set, counts as: the library compares elements
	// by all their keys, several times.
	keyedWeight, setWeight = 4, 2
	// maxVersions bounds the versions in the managedFields of an object, because the library converts the object to each of them.
	maxVersions = 10
)

// LimitError is the error of an object that is too large for server-side apply.
type LimitError struct {
	What  string // such as "members and elements"
	Limit int    // the maximum
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("server-side apply is not possible for more than %d %s: send another kind of patch", e.Limit, e.What)
}

// checkLimits returns a *LimitError for objects that would take the library too long.
func (m *Managers) checkLimits(objects ...object.Object) error {
	types := m.load()
	versions := map[any]bool{}
	for _, d := range objects {
		entries, _ := d.Metadata()["managedFields"].([]any)
		for _, item := range entries {
			if e, ok := item.(map[string]any); ok {
				version, _ := e["apiVersion"].(string)
				versions[version] = true
			}
		}
		if s := types.schema; s != nil && squares(s, types.root, d.Object) > maxMembers*maxMembers {
			return &LimitError{What: fmt.Sprintf("members of an object, or %d elements of a list", maxMembers/keyedWeight), Limit: maxMembers}
		}
	}
	if len(versions) > maxVersions {
		return &LimitError{What: "versions in metadata.managedFields", Limit: maxVersions}
	}
	return nil
}

// squares returns the sum of the squares of the sizes of all maps and lists whose members are merged one by one.
func squares(s *schema.Schema, ref schema.TypeRef, value any) int {
	atom, ok := s.Resolve(ref)
	if !ok {
		return 0
	}
	switch value := value.(type) {
	case map[string]any:
		if atom.Map == nil || atom.Map.ElementRelationship == schema.Atomic {
			return 0
		}
		sum := len(value) * len(value)
		for name, member := range value {
			element := atom.Map.ElementType
			if field, ok := atom.FindField(name); ok {
				element = field.Type
			}
			sum += squares(s, element, member)
		}
		return sum
	case []any:
		if atom.List == nil || atom.List.ElementRelationship != schema.Associative {
			return 0
		}
		size := len(value) * setWeight
		if len(atom.Keys) > 0 {
			size = len(value) * keyedWeight
		}
		sum := size * size
		for _, element := range value {
			sum += squares(s, atom.List.ElementType, element)
		}
		return sum
	}
	return 0
}
