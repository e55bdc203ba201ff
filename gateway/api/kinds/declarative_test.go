package kinds

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// TestDeclarativeValidation compares the answers for nearly empty objects, valid and invalid ones, with those of Kubernetes' own strategies.
func TestDeclarativeValidation(t *testing.T) {
	answers := map[bool]int{}
	for _, res := range Builtin() {
		s, ok := res.Strategy.(*strategy)
		if !ok {
			continue
		}
		object, ok := s.object.(declarativeObject)
		if !ok {
			continue
		}
		t.Run(res.QualifiedName(), func(t *testing.T) {
			plain := rest.RESTCreateStrategy(kubernetes{object.objectStrategy, object.DeclarativeValidationStrategy})
			next := func() runtime.Object {
				members := maps.Clone(s.zero)
				members["metadata"] = map[string]any{"name": "a", "uid": "1", "creationTimestamp": time.Now().UTC().Format(time.RFC3339)}
				if res.Namespaced {
					members["metadata"].(map[string]any)["namespace"] = "default"
				}
				internal, err := s.internal(members)
				if err != nil {
					t.Fatal(err)
				}
				return internal
			}
			metadata := map[string]any{"name": "a"}
			if res.Namespaced {
				metadata["namespace"] = "default"
			}
			ctx, _ := s.context(t.Context(), "create", "", map[string]any{"metadata": metadata})
			got, want := rest.BeforeCreate(object, ctx, next()), rest.BeforeCreate(plain, ctx, next())
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("create: %v, want %v", got, want)
			}
			answers[want == nil]++
			ctx, _ = s.context(t.Context(), "update", "", map[string]any{"metadata": metadata})
			got, want = rest.BeforeUpdate(object, ctx, next(), next()), rest.BeforeUpdate(plain.(rest.RESTUpdateStrategy), ctx, next(), next())
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("update: %v, want %v", got, want)
			}
		})
	}
	if answers[true] == 0 || answers[false] == 0 {
		t.Errorf("%d objects were valid, %d not: want some of both", answers[true], answers[false])
	}
}

// kubernetes is a strategy with its own declarative validation.
type kubernetes struct {
	objectStrategy
	rest.DeclarativeValidationStrategy
}
