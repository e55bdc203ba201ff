package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestListChecks checks in each form a list of two objects: with both revisions, and with one that is missing.
func TestListChecks(t *testing.T) {
	const item = `{"metadata":{"name":"%s","resourceVersion":"%d"}}`
	items := fmt.Sprintf(item+","+item, "a", 7, "b", 5)
	list := `{"metadata":{"resourceVersion":"9"},"items":[` + items + `]}`
	rows := fmt.Sprintf(`{"object":`+item+`},{"object":`+item+`}`, "a", 7, "b", 5)
	var typed v1.ConfigMapList
	if err := json.Unmarshal([]byte(list), &typed); err != nil {
		t.Fatal(err)
	}
	raw, err := typed.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	message, err := (&runtime.Unknown{Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string][]byte{
		"JSON": []byte(list), "Table": []byte(`{"metadata":{"resourceVersion":"9"},"rows":[` + rows + `]}`), "protobuf": slices.Concat(messagePrefix, message),
	}
	for _, form := range listForms {
		if err := form.check(bodies[form.name], []int64{5, 7}); err != nil {
			t.Errorf("%s: %v", form.name, err)
		}
		if err := form.check(bodies[form.name], []int64{5, 7, 8}); err == nil || !strings.Contains(err.Error(), "2 objects, want 3") {
			t.Errorf("%s, one is missing: %v", form.name, err)
		}
		if err := form.check([]byte("none"), nil); err == nil {
			t.Errorf("%s: no list is accepted", form.name)
		}
	}
}

// TestMessageConfigMap checks that an object is stored as a kube-apiserver stores it.
func TestMessageConfigMap(t *testing.T) {
	var message runtime.Unknown
	if err := message.Unmarshal(messageConfigMap(configMap("a", "all", 3))[len(messagePrefix):]); err != nil {
		t.Fatal(err)
	}
	var object v1.ConfigMap
	if err := object.Unmarshal(message.Raw); err != nil {
		t.Fatal(err)
	}
	if message.Kind != "ConfigMap" || message.APIVersion != "v1" || object.Name != "a" || object.Data["version"] != "3" || len(object.UID) != 36 {
		t.Errorf("%s %s: %v", message.APIVersion, message.Kind, &object)
	}
}
