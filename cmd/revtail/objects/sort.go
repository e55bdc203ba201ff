package objects

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"

	"revtail/cmd/revtail/client"
)

// sortObjects sorts objects by the field of a path, as kubectl does: numbers by value, texts that are quantities such as 1Gi by
// quantity. Objects without the field come first.
func sortObjects(objects []client.Object, path string) error {
	field, err := parsePath(path)
	if err != nil {
		return fmt.Errorf("--sort-by: %w", err)
	}
	type keyed struct {
		object client.Object
		key    any
	}
	all := make([]keyed, len(objects))
	found := len(objects) == 0
	for i, o := range objects {
		all[i].object = o
		var content map[string]any
		if err := json.Unmarshal(o.JSON, &content); err != nil {
			return err
		}
		results, failed := field.FindResults(content)
		if failed != nil {
			return fmt.Errorf("--sort-by %q: %w", path, failed)
		}
		if len(results) > 0 && len(results[0]) > 0 {
			found, all[i].key = true, results[0][0].Interface()
		}
	}
	if !found {
		return fmt.Errorf("--sort-by %q: none of the objects has this field: want, for example, .metadata.name", path)
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		order, failed := compare(a.key, b.key)
		if failed != nil && err == nil {
			err = fmt.Errorf("--sort-by %q: %w", path, failed)
		}
		return order
	})
	for i := range all {
		objects[i] = all[i].object
	}
	return err
}

// compare compares two values of JSON. Nil is less than all others.
func compare(a, b any) (int, error) {
	switch {
	case a == nil && b == nil:
		return 0, nil
	case a == nil:
		return -1, nil
	case b == nil:
		return 1, nil
	}
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return cmp.Compare(x, y), nil
		}
	}
	x, isText := a.(string)
	y, areTexts := b.(string)
	if !isText || !areTexts {
		return 0, fmt.Errorf("%v and %v cannot be compared: want a field with numbers or texts", a, b)
	}
	first, err := resource.ParseQuantity(x)
	if err != nil {
		return cmp.Compare(x, y), nil //nolint:nilerr // no quantity
	}
	second, err := resource.ParseQuantity(y)
	if err != nil {
		return cmp.Compare(x, y), nil //nolint:nilerr // no quantity
	}
	return first.Cmp(second), nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
