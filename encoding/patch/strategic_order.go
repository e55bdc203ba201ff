package patch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// orderedLists merges the lists of an object whose order the patch sets. It removes them from the patch.
func (m *merger) orderedLists(doc, patch map[string]any, meta strategicpatch.LookupPatchMeta) error {
	for name, value := range maps.Clone(patch) {
		if !strings.HasPrefix(name, orderPrefix) {
			continue
		}
		delete(patch, name)
		list, err := listOf(name, orderPrefix)
		if err != nil {
			return err
		}
		order, ok := value.([]any)
		if !ok {
			return fmt.Errorf("invalid patch format of %.64q: want a list", name)
		}
		if err = m.ordered(doc, patch, list, order, meta); err != nil {
			return err
		}
	}
	return nil
}

// ordered merges a list of an object, and sets its order.
func (m *merger) ordered(doc, patch map[string]any, name string, order []any, meta strategicpatch.LookupPatchMeta) error {
	old, inDoc := doc[name]
	change, inPatch := patch[name]
	list, isList := old.([]any)
	changes, areList := change.([]any)
	if inDoc && !isList || inPatch && !areList {
		return errUnmergeable
	}
	_, field, err := meta.LookupPatchMetadataForSlice(name)
	if err == nil {
		err = m.visit(list, changes, order)
	}
	key := field.GetPatchMergeKey()
	if err == nil {
		err = checkOrder(changes, order, key)
	}
	if err != nil || !inDoc && !inPatch {
		return err
	}
	merged, prior := list, list
	switch {
	case inDoc && inPatch:
		prior = priorOrder(list, changes, key)
		merged, err = m.list(list, changes, name, false, meta)
	case inPatch:
		value, _ := withoutDirectives(changes)
		merged, _ = value.([]any)
	}
	if err != nil {
		return err
	}
	if objects, err := areObjects(list, changes); err != nil || objects && key == "" {
		return errUnmergeable
	}
	for _, element := range order {
		if _, err := identity(element, key); err != nil {
			return err
		}
	}
	delete(patch, name)
	doc[name], err = arrange(merged, order, prior, key)
	return err
}

// priorOrder returns the list by whose order elements are placed that the patch does not order. As in apimachinery, new elements take the
// places of deleted ones in it.
func priorOrder(list, patch []any, key string) []any {
	if objects, err := areObjects(list, patch); err != nil || !objects {
		return list
	}
	kept, rest, err := applyDirectives(list, patch, key)
	deleted := len(list) - len(kept)
	if err != nil || deleted <= 0 || len(rest) == 0 {
		return list
	}
	prior, at := slices.Clone(kept), positions(kept, key)
	for _, element := range rest {
		id, err := identity(element, key)
		if _, known := at[id]; err == nil && !known && len(prior) < len(list) {
			at[id] = len(prior)
			prior = append(prior, element)
		}
	}
	return prior
}

// checkOrder checks that an order has the elements of a patch, in the same order. It ignores elements with directives.
func checkOrder(patch, order []any, key string) error {
	if len(patch) == 0 || len(order) == 0 {
		return nil
	}
	next := 0
	for _, element := range patch {
		object, _ := element.(map[string]any)
		if _, ok := object[directive]; ok {
			continue
		}
		id, err := identity(element, key)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(order[next:], func(other any) bool {
			found, err := identity(other, key)
			return err == nil && found == id
		})
		if at < 0 {
			return fmt.Errorf("the order in the patch list does not match the %s list", orderPrefix)
		}
		next += at + 1
	}
	return nil
}

// arrange orders the elements of a list: those in order have its sequence, the others that of the old list, and both keep it where
// they meet.
func arrange(list, order, old []any, key string) ([]any, error) {
	a := arrangement{key: key, inOrder: positions(order, key), inOld: positions(old, key)}
	for _, element := range list {
		id, err := identity(element, key)
		if err != nil {
			return nil, err
		}
		if _, ok := a.inOrder[id]; ok {
			a.ordered = append(a.ordered, element)
		} else {
			a.others = append(a.others, element)
		}
	}
	a.sort(a.ordered, a.inOrder)
	a.sort(a.others, a.inOld)
	return a.join(), nil
}

// arrangement is a list that is put in order.
type arrangement struct {
	key             string
	inOrder, inOld  map[any]int // positions
	ordered, others []any       // the elements that are in the order, and those that are not
}

// sort sorts elements by their positions. Unknown elements, and those that another program stored with a directive, come last.
func (a *arrangement) sort(elements []any, positions map[any]int) {
	type ranked struct {
		at      int
		element any
	}
	list := make([]ranked, len(elements))
	for i, element := range elements {
		object, _ := element.(map[string]any)
		id, _ := identity(element, a.key)
		at, ok := positions[id]
		if !ok || object[directive] == deleteDirective {
			at = math.MaxInt
		}
		list[i] = ranked{at, element}
	}
	slices.SortStableFunc(list, func(x, y ranked) int { return cmp.Compare(x.at, y.at) })
	for i := range list {
		elements[i] = list[i].element
	}
}

// join merges both parts. An element comes before one of the order only if it did so in the old list.
func (a *arrangement) join() []any {
	out := make([]any, 0, len(a.ordered)+len(a.others))
	others, ordered := a.others, a.ordered
	for len(others) > 0 && len(ordered) > 0 {
		x, _ := identity(others[0], a.key)
		y, _ := identity(ordered[0], a.key)
		before, wasThere := a.inOld[x]
		after, wereThere := a.inOld[y]
		if wasThere && wereThere && before < after {
			out, others = append(out, others[0]), others[1:]
		} else {
			out, ordered = append(out, ordered[0]), ordered[1:]
		}
	}
	return append(append(out, others...), ordered...)
}
