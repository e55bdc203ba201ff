package object

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeleteGracefully has the answers of a kube-apiserver.
func TestDeleteGracefully(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	seconds := func(n int64) *metav1.DeleteOptions { return &metav1.DeleteOptions{GracePeriodSeconds: &n} }
	asDefault := &metav1.DeleteOptions{}
	on := func(node, phase string) Object {
		return New(map[string]any{"metadata": map[string]any{"name": "p"}, "status": map[string]any{"phase": phase},
			"spec": map[string]any{"nodeName": node, "terminationGracePeriodSeconds": int64(30)}})
	}
	deleted := func(at string, grace int64) Object {
		pod := on("n", "Running")
		pod.Metadata()["deletionTimestamp"], pod.Metadata()["deletionGracePeriodSeconds"] = at, grace
		return pod
	}
	for _, test := range []struct {
		name    string
		pod     Object
		options *metav1.DeleteOptions
		want    string // deletionTimestamp and grace period; empty: at once
	}{
		{"on a node", on("n", "Running"), asDefault, "12:00:30 30"},
		{"with a period", on("n", "Pending"), seconds(5), "12:00:05 5"},
		{"with a negative period", on("n", "Running"), seconds(-4), "12:00:01 1"},
		{"at once", on("n", "Running"), seconds(0), ""},
		{"without a node", on("", "Pending"), seconds(5), ""},
		{"that has failed", on("n", "Failed"), asDefault, ""},
		{"that has succeeded", on("n", "Succeeded"), asDefault, ""},
		{"a second time", deleted("2026-11-26T12:00:20Z", 30), asDefault, "12:00:20 30"},
		{"a second time, for longer", deleted("2026-11-26T12:00:20Z", 30), seconds(60), "12:00:20 30"},
		{"a second time, for shorter", deleted("2026-11-26T12:00:20Z", 30), seconds(15), "12:00:05 15"},
		{"a second time, for shorter than has passed", deleted("2026-11-26T12:00:20Z", 30), seconds(5), "12:00:00 1"},
		{"a second time, at once", deleted("2026-11-26T12:00:20Z", 30), seconds(0), ""},
		{"a second time, after its period", deleted("2026-11-26T12:00:00Z", 0), asDefault, ""},
	} {
		got, kept := DeleteGracefully(test.pod, test.options, now)
		found := ""
		if kept {
			found = fmt.Sprintf("%s %d", got.GetDeletionTimestamp().UTC().Format(time.TimeOnly), *got.GetDeletionGracePeriodSeconds())
		}
		if found != test.want {
			t.Errorf("%s: %q, want %q", test.name, found, test.want)
		}
		if IsLast(got) && kept {
			t.Errorf("%s: it goes before a kubelet deletes it", test.name)
		}
	}
}
