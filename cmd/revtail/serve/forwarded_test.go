package serve

import (
	"fmt"
	"strings"
	"testing"
)

// TestForwardedResources checks which resources are forwarded by which names, and which names are refused.
func TestForwardedResources(t *testing.T) {
	for names, want := range map[string]string{
		"":                           "[]",
		"events":                     "[events events.events.k8s.io]",
		"events.events.k8s.io,pods":  "[events events.events.k8s.io pods]",
		"leases.coordination.k8s.io": "[leases.coordination.k8s.io]",
		"nodes,nodes":                "[nodes]",
	} {
		if got, err := forwardedResources(split(names)); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v %v, want %s", names, got, err, want)
		}
	}
	for name, says := range map[string]string{
		"event": "did you mean events?", "leases": "did you mean leases.coordination.k8s.io?", "widgets.example.com": "there is no such built-in resource",
		"tokenreviews.authentication.k8s.io": "no such built-in resource", "customresourcedefinitions.apiextensions.k8s.io": "revtail reads the definitions",
	} {
		if got, err := forwardedResources([]string{name}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v %v, want %q", name, got, err, says)
		}
	}
}

func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}
