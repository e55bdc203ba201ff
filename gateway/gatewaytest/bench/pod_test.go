package main

import (
	"bytes"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestStoredPod checks the size of the Pods, and that each one has a key of its own and can be decoded.
func TestStoredPod(t *testing.T) {
	keys, least, most := map[string]bool{}, 1<<20, 0
	for i := range 1000 {
		key, value := storedPod(i)
		keys[key] = true
		least, most = min(least, len(value)), max(most, len(value))
		var message runtime.Unknown
		var pod v1.Pod
		raw, ok := bytes.CutPrefix(value, messagePrefix)
		if !ok || message.Unmarshal(raw) != nil || pod.Unmarshal(message.Raw) != nil || "/registry/pods/"+pod.Namespace+"/"+pod.Name != key {
			t.Fatalf("%s is %q", key, pod.Name)
		}
	}
	if len(keys) != 1000 || least < 2000 || most > 4096 || most < least+1000 {
		t.Errorf("%d keys; %d to %d bytes", len(keys), least, most)
	}
}
