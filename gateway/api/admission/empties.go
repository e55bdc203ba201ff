package admission

// keepEmpties puts the empty lists and maps of an object back that its Go type has and its JSON leaves out: causes show them. to is the object after it was one
// of its Go type.
func keepEmpties(from, to map[string]any) {
	for name, value := range from {
		after, has := to[name]
		switch v := value.(type) {
		case []any:
			if !has && len(v) == 0 {
				to[name] = v
			}
			if list, ok := after.([]any); ok && len(list) >= len(v) {
				keepEmptiesOfElements(v, list)
			}
		case map[string]any:
			if object, ok := after.(map[string]any); ok {
				keepEmpties(v, object)
			}
			if !has && len(v) == 0 {
				to[name] = v
			}
		}
	}
}

func keepEmptiesOfElements(from, to []any) {
	for i := range from {
		before, ok := from[i].(map[string]any)
		if after, still := to[i].(map[string]any); ok && still {
			keepEmpties(before, after)
		}
	}
}
