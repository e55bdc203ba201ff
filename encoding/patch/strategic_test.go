package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"revtail/encoding/jsontext"
)

// compareStrategic checks that Strategic has one of the results of apimachinery, which merges members in random order.
func compareStrategic(t *testing.T, doc, patch []byte) {
	t.Helper()
	original, got, err := strategic(corev1.Pod{}).applied(t, doc, patch)
	changes, failed := jsontext.Unmarshal(patch)
	switch {
	case failed != nil, errors.Is(err, ErrTooLarge), errors.Is(err, errIdentity):
		return
	case hasList(changes, orderPrefix, isEmpty): // the library sorts by a comparison that contradicts itself
		return
	case hasList(original, "", repeats) && (hasList(changes, "", isEmpty) || hasList(changes, deletionPrefix, isAny)):
		return // the library changes the list by whose order it sorts
	}
	var want map[string]any
	var wantErr error
	for range 64 {
		want, wantErr = mergeByLibrary(runtime.DeepCopyJSON(original), runtime.DeepCopyJSON(changes))
		if (err == nil) == (wantErr == nil) && (err != nil || cmp.Equal(want, got)) {
			return
		}
	}
	t.Errorf("%s\n%s\nerror %v, want %v (-want +got):\n%s", doc, patch, err, wantErr, cmp.Diff(want, got))
}

// mergeByLibrary panics where elements have no comparable identity.
func mergeByLibrary(doc, patch map[string]any) (result map[string]any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return strategicpatch.StrategicMergeMapPatch(doc, patch, corev1.Pod{})
}

// hasList reports whether a value has a list for which is is true, in a member whose name begins with a prefix.
func hasList(value any, prefix string, is func(list []any) bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			list, isList := member.([]any)
			if isList && strings.HasPrefix(name, prefix) && is(list) || hasList(member, prefix, is) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(element any) bool { return hasList(element, prefix, is) })
	}
	return false
}

func isEmpty(list []any) bool { return len(list) == 0 }

func isAny([]any) bool { return true }

// repeats reports whether a list has a scalar more than once.
func repeats(list []any) bool {
	objects, err := areObjects(list)
	return err == nil && !objects && len(unique(slices.Clone(list))) < len(list)
}

// TestStrategicLikeTheLibrary compares random patches of random Pods.
func TestStrategicLikeTheLibrary(t *testing.T) {
	for seed := range uint64(1500) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // no secret
		doc, patch := g.text(g.pod()), g.text(g.podPatch())
		if compareStrategic(t, doc, patch); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestPatchEndsWithItsClient checks that no patch is applied for a client that has left.
func TestPatchEndsWithItsClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		apply applier
		patch string
	}{
		"merge":     {Merge, `{"a":1}`},
		"JSON":      {JSON, `[{"op":"add","path":"/a","value":1}]`},
		"strategic": {strategic(corev1.Pod{}), `{"metadata":{"finalizers":["b"]}}`},
	} {
		doc := map[string]any{"metadata": map[string]any{"finalizers": []any{"a"}}}
		if _, err := test.apply(ctx, doc, []byte(test.patch)); !errors.Is(err, context.Canceled) || doc["a"] != nil {
			t.Errorf("%s: error %v, %v", name, err, doc)
		}
	}
}

// generator makes Pods and patches from few names, so that they often meet.
type generator struct{ *rand.Rand }

func (g generator) text(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

func (g generator) name() string { return string(rune('a' + g.IntN(5))) }

// list returns up to five elements.
func (g generator) list(element func() any) []any {
	list := make([]any, g.IntN(6))
	for i := range list {
		list[i] = element()
	}
	return list
}

func (g generator) names() []any { return g.list(func() any { return g.name() }) }

// object returns an object with some of the members.
func (g generator) object(members map[string]func() any) map[string]any {
	out := map[string]any{}
	for name, value := range members {
		if g.IntN(3) > 0 {
			out[name] = value()
		}
	}
	return out
}

func (g generator) pod() map[string]any {
	env := func() any { return map[string]any{"name": g.name(), "value": g.name()} }
	container := func() any {
		c := g.object(map[string]func() any{
			"env":   func() any { return g.list(env) },
			"ports": func() any { return g.list(func() any { return map[string]any{"containerPort": g.IntN(3)} }) },
			"args":  func() any { return g.names() },
		})
		c["name"] = g.name()
		return c
	}
	return map[string]any{
		"metadata": g.object(map[string]func() any{
			"finalizers": func() any { return g.names() },
			"labels":     func() any { return map[string]any{g.name(): g.name(), g.name(): nil} },
		}),
		"spec": g.object(map[string]func() any{
			"containers":   func() any { return g.list(container) },
			"nodeSelector": func() any { return map[string]any{g.name(): g.name()} },
			"nodeName":     func() any { return g.name() },
			"volumes": func() any {
				return g.list(func() any { return map[string]any{"name": g.name(), g.name(): g.name(), "emptyDir": map[string]any{}} })
			},
		}),
	}
}

// podPatch returns a patch: a Pod with directives and some faults.
func (g generator) podPatch() any { return g.directed(g.pod()) }

// directed adds directives to a value.
func (g generator) directed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			list, isList := member.([]any)
			value[name] = g.directed(member)
			if isList {
				g.directList(value, name, list)
			}
			if g.IntN(25) == 0 {
				value[name] = nil
			}
		}
		switch g.IntN(40) {
		case 0:
			value[directive] = []any{"replace", "delete", "merge"}[g.IntN(3)]
		case 1:
			value[retainKeys] = append(g.names(), "name")
		case 2:
			value[g.name()] = map[string]any{"x": nil}
		}
	case []any:
		for i := range value {
			value[i] = g.directed(value[i])
			if object, ok := value[i].(map[string]any); ok && g.IntN(6) == 0 {
				object[directive] = []any{"delete", "delete", "delete", "replace"}[g.IntN(4)]
			}
		}
	}
	return value
}

// directList adds an order or a deletion for the list in a member.
func (g generator) directList(object map[string]any, name string, list []any) {
	identities := make([]any, 0, len(list))
	for _, element := range list {
		if members, ok := element.(map[string]any); ok {
			key := "name"
			if name == "ports" {
				key = "containerPort"
			}
			element = map[string]any{key: members[key]}
		}
		identities = append(identities, element)
	}
	switch g.IntN(5) {
	case 0:
		object[orderPrefix+"/"+name] = identities
	case 1: // with others, which the list may have
		object[orderPrefix+"/"+name] = append(identities, g.element(name), g.element(name))
	case 2:
		object[deletionPrefix+"/"+name] = []any{g.element(name)}
	case 3:
		delete(object, name)
		object[orderPrefix+"/"+name] = []any{g.element(name), g.element(name)}
	}
}

// element returns what identifies an element of a list.
func (g generator) element(list string) any {
	switch list {
	case "finalizers", "args":
		return g.name()
	case "ports":
		return map[string]any{"containerPort": g.IntN(3)}
	}
	return map[string]any{"name": g.name()}
}
