package kinds

import (
	"testing"

	"k8s.io/apiserver/pkg/registry/rest"
)

// BenchmarkDeclarativeValidation compares an update by a strategy with one by Kubernetes' own, which copies the objects.
func BenchmarkDeclarativeValidation(b *testing.B) {
	for _, res := range Builtin() {
		s, ok := res.Strategy.(*strategy)
		if !ok || res.Plural != "configmaps" && res.Plural != "deployments" {
			continue
		}
		object := s.object.(declarativeObject)
		members := map[string]any{"metadata": map[string]any{"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "1", "labels": map[string]any{"app": "web"}}}
		if res.Plural == "deployments" {
			members["spec"] = map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{
					"containers": []any{map[string]any{"name": "web", "image": "nginx:1"}},
				}},
			}
		}
		for name, by := range map[string]rest.RESTUpdateStrategy{"shared": object, "copied": kubernetes{object.objectStrategy, object.DeclarativeValidationStrategy}} {
			b.Run(res.Kind+"/"+name, func(b *testing.B) {
				next, err := s.internal(members)
				if err != nil {
					b.Fatal(err)
				}
				old := next.DeepCopyObject()
				ctx, _ := s.context(b.Context(), "update", "", members)
				b.ReportAllocs()
				for b.Loop() {
					if err := rest.BeforeUpdate(by, ctx, next, old); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
