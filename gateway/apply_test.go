package gateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// apply applies a configuration to an object as a field manager.
func (s *testServer) apply(code int, path, manager, configuration string) map[string]any {
	s.t.Helper()
	return s.must(code, "PATCH", path+"?fieldManager="+manager, configuration, "Content-Type", applyType)
}

// managerEntries returns the field managers of an object, as "manager operation[ subresource]: fields".
func managerEntries(t *testing.T, object map[string]any) []string {
	t.Helper()
	entries, _ := object["metadata"].(map[string]any)["managedFields"].([]any)
	out := make([]string, len(entries))
	for i, entry := range entries {
		e := entry.(map[string]any)
		fields, err := json.Marshal(e["fieldsV1"])
		if err != nil {
			t.Fatal(err)
		}
		out[i] = e["manager"].(string) + " " + e["operation"].(string)
		if sub, ok := e["subresource"].(string); ok {
			out[i] += " " + sub
		}
		out[i] += ": " + strings.ReplaceAll(strings.ReplaceAll(string(fields), `"`, ""), ":{}", "")
		if e["fieldsType"] != "FieldsV1" || e["time"] == nil || e["apiVersion"] == nil {
			t.Errorf("entry: %v", e)
		}
	}
	return out
}

func versionOf(object map[string]any) string {
	return object["metadata"].(map[string]any)["resourceVersion"].(string)
}

// TestApply follows an object that two managers share.
func TestApply(t *testing.T) {
	s := newTestServer(t)
	const path = configMaps + "/s"
	check := func(object map[string]any, data string, want ...string) {
		t.Helper()
		got, err := json.Marshal(object["data"])
		if err != nil || string(got) != data {
			t.Errorf("data: %s, want %s", got, data)
		}
		if diff := cmp.Diff(want, managerEntries(t, object)); diff != "" {
			t.Errorf("managers (-want +got):\n%s", diff)
		}
	}
	yaml := "kind: ConfigMap\napiVersion: v1\nmetadata: {name: s, creationTimestamp: null}\ndata: {a: '1', b: '2'}\n"
	made := s.apply(http.StatusCreated, path, "m1", yaml)
	check(made, `{"a":"1","b":"2"}`, "m1 Apply: {f:data:{f:a,f:b}}")
	if diff := cmp.Diff(made, s.apply(http.StatusOK, path, "m1", yaml)); diff != "" {
		t.Errorf("applied again (-want +got):\n%s", diff)
	}

	refused := s.apply(http.StatusConflict, path, "m2", configMap("s", "", `"data":{"a":"3","c":"4"}`))
	cause := refused["details"].(map[string]any)["causes"].([]any)[0]
	if diff := cmp.Diff(map[string]any{"reason": "FieldManagerConflict", "message": `conflict with "m1"`, "field": ".data.a"}, cause); diff != "" {
		t.Errorf("cause (-want +got):\n%s", diff)
	}
	if want := `Apply failed with 1 conflict: conflict with "m1": .data.a`; refused["message"] != want || refused["reason"] != "Conflict" {
		t.Errorf("refused: %v", refused)
	}

	check(s.apply(http.StatusOK, path, "m2&force=true", configMap("s", "", `"data":{"a":"3","c":"4"}`)), `{"a":"3","b":"2","c":"4"}`,
		"m1 Apply: {f:data:{f:b}}", "m2 Apply: {f:data:{f:a,f:c}}")
	check(s.apply(http.StatusOK, path, "m1", configMap("s", "", `"data":{"c":"4"}`)), `{"a":"3","c":"4"}`,
		"m1 Apply: {f:data:{f:c}}", "m2 Apply: {f:data:{f:a,f:c}}")
	check(s.apply(http.StatusOK, path, "m2", configMap("s", "", "")), `{"c":"4"}`, "m1 Apply: {f:data:{f:c}}")
}

// TestApplyMergesListsByTheirKeys checks that lists are merged by their keys, also by several keys and by keys with defaults.
func TestApplyMergesListsByTheirKeys(t *testing.T) {
	s := newTestServer(t)
	const path = "/api/v1/namespaces/default/podtemplates/p"
	template := func(container string) string {
		return `{"kind":"PodTemplate","apiVersion":"v1","metadata":{"name":"p"},"template":{"spec":{"containers":[` + container + `]}}}`
	}
	s.apply(http.StatusCreated, path, "m1", template(`{"name":"c","image":"i","ports":[{"containerPort":53,"protocol":"UDP"},{"containerPort":53}]}`))
	s.apply(http.StatusOK, path, "m2", template(`{"name":"c","ports":[{"containerPort":53,"protocol":"TCP","name":"tcp"}]},{"name":"d","image":"j"}`))
	merged := s.apply(http.StatusOK, path, "m1", template(`{"name":"c","image":"i2","ports":[{"containerPort":53}]}`))
	containers := merged["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
	for _, c := range containers {
		maps.DeleteFunc(c.(map[string]any), func(name string, _ any) bool { return !slices.Contains([]string{"name", "image", "ports"}, name) })
	}
	got, err := json.Marshal(containers)
	want := `[{"image":"i2","name":"c","ports":[{"containerPort":53,"name":"tcp","protocol":"TCP"}]},{"image":"j","name":"d"}]`
	if err != nil || string(got) != want {
		t.Errorf("containers: %s\nwant %s", got, want)
	}
}

// TestRefusedConfigurations checks that a configuration is refused with the right status, and that nothing is created.
func TestRefusedConfigurations(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	const a, x = configMaps + "/a?fieldManager=m", configMaps + "/x?fieldManager=m"
	for _, test := range []struct {
		name, path, body string
		code             int
		reason, message  string
		details          string
	}{
		{"without a manager", configMaps + "/a", configMap("a", "", ""), 422, "Invalid", `PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch`,
			" meta.k8s.io PatchOptions fieldManager=FieldValueRequired"},
		{"without kind", a, `{"metadata":{"name":"a"}}`, 400, "BadRequest", "invalid object type: /, Kind=", ""},
		{"of another kind", a, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`, 400, "BadRequest", "invalid object type: /v1, Kind=Secret", ""},
		{"not YAML", a, "a: [", 400, "BadRequest", "error decoding YAML", ""},
		{"not an object", a, "[]", 400, "BadRequest", "error decoding YAML", ""},
		{"with metadata of another type", a, `{"kind":"ConfigMap","apiVersion":"v1","metadata":5}`, 400, "BadRequest", "metadata must be an object", ""},
		{"with managedFields", a, configMap("a", `"managedFields":[]`, ""), 400, "BadRequest", "metadata.managedFields must be nil", ""},
		{"stale", a, configMap("a", `"resourceVersion":"1"`, ""), 409, "Conflict", "the object has been modified", "a configmaps"},
		{"of another type", a, configMap("a", "", `"data":{"k":1}`), 400, "BadRequest", ".data.k: expected string", ""},
		{"number that would be rounded", a, configMap("a", "", `"nope":12345678901234567890`), 400, "BadRequest", ".nope: expected", ""},
		{"of another name", a, configMap("b", "", ""), 400, "BadRequest", "does not match the name on the URL", ""},
		{"of another namespace", a, configMap("a", `"namespace":"b"`, ""), 400, "BadRequest", "namespace", ""},
		{"of another uid", a, configMap("a", `"uid":"u"`, ""), 422, "Invalid", "field is immutable", "a ConfigMap metadata.uid=FieldValueInvalid"},
		{"unknown field, not validated", a + "&fieldValidation=Ignore", configMap("a", "", `"nope":1`), 400, "BadRequest",
			"failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema", ""},
		{"unknown field", a, configMap("a", "", `"nope":1`), 400, "BadRequest",
			"failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema", ""},
		{"unknown fields", a + "&fieldValidation=Strict", configMap("a", `"more":1`, `"nope":1,"data":{"k":"v","k":"w"}`), 400, "BadRequest",
			"Kind=ConfigMap): errors:\n  .metadata.more: field not declared in schema\n  .nope: field not declared in schema", ""},
		{"duplicate field", a + "&fieldValidation=Strict", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  k: v\n  k: w\n", 400, "BadRequest",
			"error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key \"k\" already set in map", ""},
		{"absent, with resourceVersion", x, configMap("x", `"resourceVersion":"1"`, ""), 409, "Conflict", "the object has been modified", "x configmaps"},
		{"absent, with uid", x, configMap("x", `"uid":"u"`, ""), 409, "Conflict", "uid mismatch: the provided object specified uid u, and no existing object was found", "x configmaps"},
		{"absent, status", pods + "/x/status?fieldManager=m", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}`, 404, "NotFound", `pods "x" not found`, "x pods"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkStatus(t, s.do("PATCH", test.path, test.body, "Content-Type", applyType), test.code, test.reason, test.message, test.details)
		})
	}
	s.must(http.StatusNotFound, "GET", configMaps+"/x", "")
}

// TestApplyToStatus checks that applying to the status changes and manages only the status and the labels.
func TestApplyToStatus(t *testing.T) {
	s := newTestServer(t)
	s.apply(http.StatusCreated, pods+"/p", "m", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Failed"}}`)
	pod := s.apply(http.StatusOK, pods+"/p/status", "kubelet", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}`)
	want := []string{"kubelet Apply status: {f:metadata:{f:labels:{f:a}},f:status:{f:phase}}", "m Apply: {f:spec:{f:containers:{k:{\\name\\:\\c\\}:{.,f:image,f:name}}}}"}
	got := slices.Sorted(slices.Values(managerEntries(t, pod))) // they are in the order of their times
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	if pod["status"].(map[string]any)["phase"] != "Running" || pod["spec"].(map[string]any)["nodeName"] != nil || pod["metadata"].(map[string]any)["labels"] == nil {
		t.Errorf("pod: %v", pod)
	}
}

// TestApplyToCustomResource checks that the schema determines how lists are merged, and which fields are unknown.
func TestApplyToCustomResource(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	const path = "/apis/example.com/v1/namespaces/default/widgets/w"
	s.apply(http.StatusCreated, path, "m1", `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"color":"red"}}`)
	both := s.apply(http.StatusOK, path, "m2", `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"size":5}}`)
	want := []string{"m1 Apply: {f:spec:{f:color}}", "m2 Apply: {f:spec:{f:size}}"}
	if diff := cmp.Diff(want, managerEntries(t, both)); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	s.apply(http.StatusConflict, path, "m2", `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"color":"blue"}}`)
	s.apply(http.StatusBadRequest, path, "m2&fieldValidation=Ignore", `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"nope":1}`)
}
