package resource

import (
	"strings"
	"testing"
)

func TestCheckField(t *testing.T) {
	kinds := map[string]*Resource{}
	for _, r := range Builtin() {
		kinds[r.QualifiedName()] = r
	}
	for _, test := range []struct{ resource, field, want string }{
		{"pods", "spec.nodeName", ""},
		{"pods", "status.phase", ""},
		{"pods", "kind", ""},
		{"pods", "metadata.creationTimestamp", ""},
		{"pods", "metadata.labels.app", ""},
		{"pods", "spec.nodeSelector.disk", ""},
		{"pods", "spec.hostNetwork", ""},
		{"pods", "spec.overhead.cpu", ""}, // a quantity
		{"secrets", "type", ""},
		{"secrets", "data.password", ""}, // bytes
		{"events", "involvedObject.uid", ""},
		{"deployments.apps", "spec.strategy.rollingUpdate.maxSurge", ""}, // an integer or a string
		{"pods", "spec.nodename", "field label not supported: spec.nodename (did you mean spec.nodeName?)"},
		{"pods", "nonsense", "field label not supported: nonsense"},
		{"pods", "metadata.nmae", "field label not supported: metadata.nmae (did you mean metadata.name?)"},
		{"pods", "metadata.name.x", "field label not supported: metadata.name.x"},
		{"pods", "metadata.creationTimestamp.x", "field label not supported: metadata.creationTimestamp.x"},
		{"pods", "status", "field label not supported: status (which is an object: select by a field of it, such as status.allocatedResources)"},
		{"pods", "metadata.labels", "field label not supported: metadata.labels"},
		{"pods", "metadata.finalizers", "field label not supported: metadata.finalizers"},
		{"pods", "metadata.labels.app.kubernetes.io/name", "field label not supported: metadata.labels.app.kubernetes.io/name"},
		{"configmaps", "spec.nodeName", "field label not supported: spec.nodeName"},
	} {
		t.Run(test.resource+" "+test.field, func(t *testing.T) {
			got := ""
			if err := kinds[test.resource].CheckField(strings.Split(test.field, ".")); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}

func TestAbsentValue(t *testing.T) {
	for _, r := range Builtin() {
		if r.QualifiedName() != "nodes" {
			continue
		}
		if got := r.AbsentValue([]string{"spec", "unschedulable"}); got != "false" {
			t.Errorf("unschedulable: %q", got)
		}
		if got := r.AbsentValue([]string{"spec", "podCIDR"}); got != "" {
			t.Errorf("podCIDR: %q", got)
		}
	}
}
