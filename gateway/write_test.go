package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/http/request"
)

const (
	mergeType     = "application/merge-patch+json"
	jsonPatchType = "application/json-patch+json"
	strategicType = "application/strategic-merge-patch+json"
	applyType     = "application/apply-patch+yaml"

	pods        = "/api/v1/namespaces/default/pods"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
)

// configMap returns the JSON of a ConfigMap with some metadata beside its name and other members.
func configMap(name, metadata, members string) string {
	join := func(a, b string) string { return strings.TrimSuffix(a+","+b, ",") }
	return `{` + join(`"kind":"ConfigMap","apiVersion":"v1","metadata":{`+join(`"name":"`+name+`"`, metadata)+`}`, members) + `}`
}

// TestBodiesWithoutKind checks that a body for a built-in kind may leave out apiVersion and kind, as those of Kubernetes' Python client do, and
// that a patch may remove them.
func TestBodiesWithoutKind(t *testing.T) {
	s := newTestServer(t)
	const deployment = deployments + "/d"
	const merge, jsonPatch = "application/merge-patch+json", "application/json-patch+json"
	for _, test := range []struct {
		method, path, contentType, body string
		code                            int
		apiVersion, kind                string
	}{
		{"POST", configMaps, "", `{"metadata":{"name":"a"}}`, 201, "v1", "ConfigMap"},
		{"POST", configMaps, "", `{"kind":"ConfigMap","metadata":{"name":"b"}}`, 201, "v1", "ConfigMap"},
		{"POST", configMaps, "", `{"apiVersion":"","kind":null,"metadata":{"name":"c"}}`, 201, "v1", "ConfigMap"},
		{"POST", configMaps, "application/yaml", "metadata: {name: d}", 201, "v1", "ConfigMap"},
		{"PUT", configMaps + "/a", "", `{"metadata":{"name":"a"},"data":{"x":"y"}}`, 200, "v1", "ConfigMap"},
		{"PATCH", configMaps + "/a", merge, `{"apiVersion":null,"kind":null,"data":{"x":"z"}}`, 200, "v1", "ConfigMap"},
		{"PATCH", configMaps + "/a", jsonPatch, `[{"op":"remove","path":"/kind"}]`, 200, "v1", "ConfigMap"},
		{"POST", deployments, "", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{` + podSpec + `}}}}`,
			201, "apps/v1", "Deployment"},
		{"PUT", deployment + "/scale", "", `{"metadata":{"name":"d"},"spec":{"replicas":2}}`, 200, "autoscaling/v1", "Scale"},
		{"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "", `{}`, 201, "authentication.k8s.io/v1", "SelfSubjectReview"},
	} {
		t.Run(test.method+" "+test.body, func(t *testing.T) {
			header := []string{"Content-Type", test.contentType}
			if test.contentType == "" {
				header = nil
			}
			a := s.do(test.method, test.path, test.body, header...)
			if got := a.json(t); a.code != test.code || got["apiVersion"] != test.apiVersion || got["kind"] != test.kind {
				t.Errorf("%d %v, want %d, apiVersion %s and kind %s", a.code, got, test.code, test.apiVersion, test.kind)
			}
		})
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if got := s.must(http.StatusOK, "GET", configMaps+"/"+name, ""); got["kind"] != "ConfigMap" || got["apiVersion"] != "v1" {
			t.Errorf("stored: %v", got)
		}
	}
}

// TestRefusedWrites checks that a refused write has the code, the reason, the details and the message that clients know.
func TestRefusedWrites(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	s.must(http.StatusCreated, "POST", leases, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"}}`)
	s.must(http.StatusCreated, "POST", configMaps, configMap("dying", `"finalizers":["example.com/x"]`, ""))
	s.must(http.StatusOK, "DELETE", configMaps+"/dying", "")
	const a, dying = configMaps + "/a", configMaps + "/dying"
	tooMany := "[" + strings.TrimSuffix(strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, 10_001), ",") + "]"
	for _, test := range []struct {
		name, method, path, contentType, body string
		code                                  int
		reason, message                       string // message: a part of it
		details                               string // short form; "-": any
	}{
		{"create an existing object", "POST", configMaps, "", configMap("a", "", ""), 409, "AlreadyExists", `configmaps "a" already exists`, `a configmaps`},
		{"create a terminating object", "POST", configMaps, "", configMap("dying", "", ""), 409, "AlreadyExists",
			`object is being deleted: configmaps "dying" already exists`, `dying configmaps`},
		{"malformed", "POST", configMaps, "", `{bad json`, 400, "BadRequest", "json parse error: invalid character 'b' looking for beginning of object key string ({bad json)", ""},
		{"empty", "POST", configMaps, "", ``, 400, "BadRequest", "unexpected end of JSON input (<empty>)", ""},
		{"array", "POST", configMaps, "", `[]`, 400, "BadRequest", "must be of type ConfigMap", ""},
		{"without anything", "POST", configMaps, "", `{}`, 422, "Invalid", "name or generateName is required", ` ConfigMap metadata.name=FieldValueRequired`},
		{"kind is a number", "POST", configMaps, "", `{"kind":1}`, 400, "BadRequest", "Object 'Kind' is missing in '{\"kind\":1}'", ""},
		{"of another kind", "POST", configMaps, "", `{"kind":"Gadget","apiVersion":"v1","metadata":{"name":"x"}}`, 400, "BadRequest",
			`Gadget in version "v1" cannot be handled as a ConfigMap: the kind of this URL is ConfigMap`, ""},
		{"of another kind, without version", "POST", configMaps, "", `{"kind":"Gadget","metadata":{"name":"x"}}`, 400, "BadRequest",
			`Gadget in version "v1" cannot be handled as a ConfigMap`, ""},
		{"of another version", "POST", configMaps, "", `{"kind":"ConfigMap","apiVersion":"v2"}`, 400, "BadRequest",
			"the API version in the data (v2) does not match the expected API version (v1)", ""},
		{"bad name", "POST", configMaps, "", configMap("Bad_Name", "", ""), 422, "Invalid", `ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value`,
			`Bad_Name ConfigMap metadata.name=FieldValueInvalid`},
		{"no name", "POST", configMaps, "", `{"kind":"ConfigMap","apiVersion":"v1"}`, 422, "Invalid", "name or generateName is required", ` ConfigMap metadata.name=FieldValueRequired`},
		{"bad label", "POST", configMaps, "", configMap("x", `"labels":{"l":"b c"}`, ""), 422, "Invalid", "metadata.labels: Invalid value", `x ConfigMap metadata.labels=FieldValueInvalid`},
		{"label of another type", "POST", configMaps, "", configMap("x", `"labels":{"l":1}`, ""), 400, "BadRequest",
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`, ""},
		{"field of another type", "POST", configMaps, "", configMap("x", "", `"data":{"a":1}`), 400, "BadRequest", "cannot be handled as a ConfigMap", ""},
		{"annotations too long", "POST", configMaps, "", configMap("x", `"annotations":{"a":"`+strings.Repeat("x", 262145)+`"}`, ""), 422, "Invalid",
			"metadata.annotations: Too long: may not be more than 262144 bytes", `x ConfigMap metadata.annotations=FieldValueTooLong`},
		{"another namespace", "POST", configMaps, "", configMap("x", `"namespace":"other"`, ""), 400, "BadRequest",
			"the namespace of the provided object does not match the namespace sent on the request", ""},
		{"create an invalid object with resourceVersion", "POST", configMaps, "", configMap("x", `"resourceVersion":"1"`, `"data":{"a b":"1"}`), 422, "Invalid", "data[a b]: Invalid value", `x ConfigMap data[a b]=FieldValueInvalid`},
		{"create with resourceVersion", "POST", configMaps, "", configMap("x", `"resourceVersion":"1"`, ""), 400, "BadRequest", "should not be set on objects to be created", ""},
		{"text", "POST", configMaps, "text/plain", configMap("x", "", ""), 415, "UnsupportedMediaType", "accepted media types include: application/json, application/yaml", ""},
		{"body above the limit", "POST", configMaps, "", strings.Repeat(" ", request.MaxBody+1), 413, "RequestEntityTooLarge", "limit is 3145728", ""},
		{"bad dryRun", "POST", configMaps + "?dryRun=Nope", "", ``, 422, "Invalid", `CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Nope"]: supported values: "All"`,
			` meta.k8s.io CreateOptions dryRun=FieldValueNotSupported`},
		{"bad timeout of a create", "POST", configMaps + "?timeout=abc", "", configMap("x", "", ""), 400, "BadRequest",
			`invalid timeout specified in the request URL - time: invalid duration "abc"`, ""},
		{"bad timeout of a delete", "DELETE", a + "?timeout=5", "", "", 400, "BadRequest", "invalid timeout specified in the request URL", ""},
		{"empty policy of a delete", "DELETE", a + "?propagationPolicy=", "", "", 422, "Invalid", "propagationPolicy: Unsupported value",
			` meta.k8s.io DeleteOptions propagationPolicy=FieldValueNotSupported`},
		{"an expired timeout", "PUT", a + "?timeout=1ns", "", configMap("a", `"labels":{"l":"x"}`, ""), 504, "Timeout", "did not complete within its time", "{}"},
		{"bad finalizer of a patch", "PATCH", a, mergeType, `{"metadata":{"finalizers":["a b"]}}`, 422, "Invalid", "metadata.finalizers: Invalid value",
			`a ConfigMap metadata.finalizers=FieldValueInvalid metadata.finalizers[0]=FieldValueInvalid`},
		{"long fieldManager", "PUT", a + "?fieldManager=" + strings.Repeat("x", 129), "", ``, 422, "Invalid", "fieldManager: Too long: may not be more than 128 bytes",
			` meta.k8s.io UpdateOptions fieldManager=FieldValueTooLong`},
		{"bad fieldValidation", "PATCH", a + "?fieldValidation=Bogus", mergeType, ``, 422, "Invalid", `supported values: "", "Ignore", "Strict", "Warn"`,
			` meta.k8s.io PatchOptions fieldValidation=FieldValueNotSupported`},
		{"strict", "POST", configMaps + "?fieldValidation=Strict", "", configMap("x", "", `"nope":1,"data":{"a":"1","a":"2"}`), 400, "BadRequest",
			`strict decoding error: unknown field "nope", duplicate field "data.a"`, ""},
		{"strict, in the order of the body", "POST", configMaps + "?fieldValidation=Strict", "", `{"zz":1,"metadata":{"name":"x","uu":1,"name":"y"},"data":{"a":"1","a":"2"},"aa":1}`,
			400, "BadRequest", `strict decoding error: unknown field "zz", unknown field "metadata.uu", duplicate field "metadata.name", duplicate field "data.a", unknown field "aa"`, ""},

		{"update without resourceVersion", "PUT", leases + "/l", "", `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"}}`, 422, "Invalid",
			`leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
			`l coordination.k8s.io leases metadata.resourceVersion=FieldValueInvalid`},
		{"stale", "PUT", a, "", configMap("a", `"resourceVersion":"1"`, ""), 409, "Conflict",
			`Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`, `a configmaps`},
		{"invalid resourceVersion", "PUT", a, "", configMap("a", `"resourceVersion":"abc"`, ""), 400, "BadRequest", "invalid resource version", ""},
		{"another name", "PUT", a, "", configMap("b", "", ""), 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)", ""},
		{"update without a name", "PUT", a, "", `{"kind":"ConfigMap","apiVersion":"v1"}`, 400, "BadRequest", "the name of the object (a based on URL) was undeterminable: name must be provided", ""},
		{"another uid", "PUT", a, "", configMap("a", `"uid":"zzz"`, ""), 409, "Conflict", `Operation cannot be fulfilled on configmaps "a"`, `a configmaps`},
		{"update an absent object", "PUT", configMaps + "/x", "", configMap("x", "", ""), 404, "NotFound", `configmaps "x" not found`, `x configmaps`},
		{"update a collection", "PUT", configMaps, "", `{}`, 400, "BadRequest", "name must be provided", ""},
		{"patch a collection", "PATCH", configMaps, mergeType, `{}`, 400, "BadRequest", "name must be provided", ""},
		{"delete in all namespaces", "DELETE", "/api/v1/configmaps", "", ``, 405, "MethodNotAllowed", "not allowed", ""},

		{"malformed merge patch", "PATCH", a, mergeType, `{bad`, 400, "BadRequest", "invalid JSON patch", ""},
		{"merge patch array", "PATCH", a, mergeType, `[]`, 400, "BadRequest", "json: cannot unmarshal array into Go value of type map[string]interface {}", ""},
		{"patch of an unknown type", "PATCH", a, "application/json", `{}`, 415, "UnsupportedMediaType",
			"application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml", ""},
		{"patch an absent object", "PATCH", configMaps + "/x", mergeType, `{}`, 404, "NotFound", `configmaps "x" not found`, `x configmaps`},
		{"patch the name", "PATCH", a, mergeType, `{"metadata":{"name":"b"}}`, 400, "BadRequest", "does not match the name on the URL", ""},
		{"patch the uid of an old state", "PATCH", a, mergeType, `{"metadata":{"uid":"b","resourceVersion":"1"}}`, 409, "Conflict",
			"the object has been modified", `a configmaps`},
		{"patch the uid", "PATCH", a, mergeType, `{"metadata":{"uid":"b"}}`, 422, "Invalid", "field is immutable", `a ConfigMap metadata.uid=FieldValueInvalid`},
		{"patch a resourceVersion", "PATCH", a, mergeType, `{"metadata":{"resourceVersion":"1"}}`, 409, "Conflict", "the object has been modified", `a configmaps`},
		{"patch to another type", "PATCH", a, mergeType, `{"data":1}`, 422, "Invalid", "patch: Invalid value", ` patch=FieldValueInvalid`},
		{"strict patch", "PATCH", a + "?fieldValidation=Strict", mergeType, `{"nope":1}`, 422, "Invalid", ` "" is invalid: patch: Invalid value`, ` patch=FieldValueInvalid`},
		{"strict patch of duplicates", "PATCH", a + "?fieldValidation=Strict", mergeType, `{"data":{"a":"1","a":"1"}}`, 422, "Invalid", `duplicate field "data.a"`, ` patch=FieldValueInvalid`},
		{"strict JSON patch", "PATCH", a + "?fieldValidation=Strict", jsonPatchType, `[{"op":"add","path":"/data","value":{},"foo":1},{"op":"add","path":"/nope","value":1,"value":2}]`, 422, "Invalid",
			`strict decoding error: json patch unknown field "[0].foo", json patch duplicate field "[1].value", unknown field "nope"`, ` patch=FieldValueInvalid`},
		{"force a merge patch", "PATCH", a + "?force=true", mergeType, `{}`, 422, "Invalid", "force: Forbidden: may not be specified for non-apply patch",
			` meta.k8s.io PatchOptions force=FieldValueForbidden`},
		{"failed test", "PATCH", a, jsonPatchType, `[{"op":"test","path":"/kind","value":"x"}]`, 422, "Invalid", "the server rejected our request due to an error in our request", `{}`},
		{"unknown operation", "PATCH", a, jsonPatchType, `[{"op":"grow","path":"/kind"}]`, 422, "Invalid", "the server rejected our request", `{}`},
		{"missing path", "PATCH", a, jsonPatchType, `[{"op":"remove","path":"/data/x"}]`, 422, "Invalid", "the server rejected our request", `{}`},
		{"JSON patch object", "PATCH", a, jsonPatchType, `{}`, 400, "BadRequest", "cannot unmarshal object", ""},
		{"JSON patch of no operations", "PATCH", a, jsonPatchType, `[1]`, 400, "BadRequest", "operation 0: the patch is malformed: it is not an object", ""},
		{"too many operations", "PATCH", a, jsonPatchType, tooMany, 413, "RequestEntityTooLarge", "10000 are allowed", ""},
		{"new finalizer of a terminating object", "PATCH", dying, mergeType, `{"metadata":{"finalizers":["example.com/x","example.com/y"]}}`, 422, "Invalid",
			`no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/y"}`, `dying ConfigMap metadata.finalizers=FieldValueForbidden`},
		{"unknown subresource", "GET", a + "/nope", "", ``, 404, "NotFound", `configmaps "a" has no subresource "nope"`, `a configmaps`},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := []string{"Content-Type", test.contentType}
			if test.contentType == "" {
				header = nil
			}
			checkStatus(t, s.do(test.method, test.path, test.body, header...), test.code, test.reason, test.message, test.details)
		})
	}
	if got := s.get(configMaps).json(t)["items"].([]any); len(got) != 2 {
		t.Errorf("something was stored: %v", got)
	}
}

// checkStatus compares a response with a refusal; details have the short form "name [group] kind [field=reason]…".
func checkStatus(t *testing.T, a answer, code int, reason, message, details string) {
	t.Helper()
	var status struct {
		Kind, APIVersion, Status, Message, Reason string
		Details                                   *struct {
			Name, Group, Kind string
			Causes            []struct{ Reason, Field string }
		}
		Code int
	}
	if err := json.Unmarshal([]byte(a.body), &status); err != nil {
		t.Fatalf("%d, not a Status: %.300s", a.code, a.body)
	}
	short := ""
	if d := status.Details; d != nil {
		parts := []string{d.Name}
		for _, part := range []string{d.Group, d.Kind} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		for _, cause := range d.Causes {
			parts = append(parts, cause.Field+"="+cause.Reason)
		}
		if short = strings.Join(parts, " "); short == "" {
			short = "{}"
		}
	}
	if a.code != code || status.Code != code || status.Reason != reason || !strings.Contains(status.Message, message) || short != details ||
		status.Kind != "Status" || status.APIVersion != "v1" || status.Status != "Failure" {
		t.Errorf("got %d %s %q; want %d %s %q\n%.500s", a.code, status.Reason, short, code, reason, details, a.body)
	}
}

// TestCreateOwnsItsMetadata checks that a create ignores the fields that the server owns.
func TestCreateOwnsItsMetadata(t *testing.T) {
	s := newTestServer(t)
	pod := s.must(http.StatusCreated, "POST", pods, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","uid":"x","generation":7,"selfLink":"x",
		"creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":5},
		"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}}`)
	metadata := pod["metadata"].(map[string]any)
	if metadata["uid"] == "x" || metadata["creationTimestamp"] == "2001-01-01T00:00:00Z" || metadata["generation"] != 1.0 || metadata["namespace"] != "default" {
		t.Errorf("metadata: %v", metadata)
	}
	for _, member := range []string{"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if metadata[member] != nil {
			t.Errorf("%s: %v", member, metadata[member])
		}
	}
	if !cmp.Equal(pod["status"], map[string]any{"phase": "Pending", "qosClass": "BestEffort"}) {
		t.Errorf("status: %v", pod["status"])
	}
}

// TestNamespaceOfAClusterObject checks that the namespace in an object of a cluster-wide kind is ignored.
func TestNamespaceOfAClusterObject(t *testing.T) {
	s := newTestServer(t)
	const nodes = "/api/v1/nodes"
	body := `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","namespace":"eu","resourceVersion":"0"}}`
	s.must(http.StatusCreated, "POST", nodes, body)
	s.must(http.StatusOK, "PUT", nodes+"/n", strings.Replace(body, `}}`, `,"labels":{"l":"x"}}}`, 1))
	if got := s.get(nodes + "/n").body; strings.Contains(got, `"namespace"`) || !strings.Contains(got, `"l":"x"`) {
		t.Errorf("the node is %s", got)
	}
}

// TestNullTexts checks that a null label or annotation becomes an empty one, by each kind of write.
func TestNullTexts(t *testing.T) {
	s := newTestServer(t)
	const metadata = `"labels":{"l":null,"k":"x"},"annotations":{"a":null}`
	s.must(http.StatusCreated, "POST", configMaps, configMap("created", metadata, ""))
	for _, name := range []string{"replaced", "patched", "applied"} {
		s.must(http.StatusCreated, "POST", configMaps, configMap(name, "", ""))
	}
	s.must(http.StatusOK, "PUT", configMaps+"/replaced", configMap("replaced", metadata, ""))
	s.must(http.StatusOK, "PATCH", configMaps+"/patched", `[{"op":"add","path":"/metadata/labels","value":{"l":null,"k":"x"}},
		{"op":"add","path":"/metadata/annotations","value":{"a":null}}]`, "Content-Type", jsonPatchType)
	s.must(http.StatusOK, "PATCH", configMaps+"/applied?fieldManager=m", configMap("applied", metadata, ""), "Content-Type", applyType)
	for _, name := range []string{"created", "replaced", "patched", "applied"} {
		body := s.get(configMaps + "/" + name).body
		var object struct {
			Metadata struct{ Labels, Annotations map[string]any }
		}
		if err := json.Unmarshal([]byte(body), &object); err != nil {
			t.Fatal(err)
		}
		got := []map[string]any{object.Metadata.Labels, object.Metadata.Annotations}
		if diff := cmp.Diff([]map[string]any{{"l": "", "k": "x"}, {"a": ""}}, got); diff != "" {
			t.Errorf("labels and annotations, %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestGivenNameIsNotGenerated checks that generateName beside a name has no effect, so that a name in use is a conflict.
func TestGivenNameIsNotGenerated(t *testing.T) {
	s := newTestServer(t)
	s.create("a")
	checkStatus(t, s.do("POST", configMaps, configMap("a", `"generateName":"b-"`, "")), 409, "AlreadyExists", "already exists", "a configmaps")
	made := s.must(http.StatusCreated, "POST", configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"`+strings.Repeat("x", 70)+`"}}`)
	if name := made["metadata"].(map[string]any)["name"].(string); len(name) != 63 || !strings.HasPrefix(name, strings.Repeat("x", 58)) {
		t.Errorf("generated %q", name)
	}
}

// TestDryRunStoresNothing checks that a dry run answers as a write does, and stores nothing.
func TestDryRunStoresNothing(t *testing.T) {
	s := newTestServer(t)
	version := s.create("a")
	made := s.must(http.StatusCreated, "POST", configMaps+"?dryRun=All", configMap("b", "", ""))
	if made["metadata"].(map[string]any)["resourceVersion"] != nil {
		t.Errorf("created: %v", made)
	}
	s.must(http.StatusCreated, "POST", configMaps+"?dryRun=All", configMap("b", `"resourceVersion":"1"`, "")) // which the store of a cluster would refuse
	s.must(http.StatusConflict, "POST", configMaps+"?dryRun=All", configMap("a", "", ""))
	for _, answered := range []map[string]any{
		s.must(http.StatusOK, "PUT", configMaps+"/a?dryRun=All", configMap("a", "", `"data":{"k":"v"}`)),
		s.must(http.StatusOK, "PATCH", configMaps+"/a?dryRun=All", `{"data":{"k":"v"}}`, "Content-Type", mergeType),
	} {
		metadata := answered["metadata"].(map[string]any)
		if metadata["resourceVersion"] != version || metadata["generation"] != nil || answered["data"] == nil {
			t.Errorf("changed: %v", answered)
		}
	}
	s.must(http.StatusCreated, "PATCH", configMaps+"/c?dryRun=All&fieldManager=m", configMap("c", "", ""), "Content-Type", applyType)
	s.must(http.StatusOK, "DELETE", configMaps+"/a?dryRun=All", "")
	items := s.get(configMaps).json(t)["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["metadata"].(map[string]any)["resourceVersion"] != version {
		t.Errorf("stored: %v", items)
	}
}

// TestWarnings checks that each accepted mistake has one warning.
func TestWarnings(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	for _, test := range []struct {
		name, method, path, body string
		want                     []string
	}{
		{"unknown and duplicate fields", "POST", configMaps, configMap("a", "", `"nope":1,"data":{"a":"1","a":"2"}`),
			[]string{`299 - "unknown field \"nope\""`, `299 - "duplicate field \"data.a\""`}},
		{"ignored", "PUT", configMaps + "/a?fieldValidation=Ignore", configMap("a", "", `"nope":1`), nil},
		{"a patch warns of its own fields only", "PATCH", configMaps + "/a", `{"data":{"k":"v"},"again":1}`, []string{`299 - "unknown field \"again\""`}},
		{"finalizers without a domain", "POST", widgets, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","finalizers":["foo","orphan","example.com/bar"]}}`,
			[]string{`299 - "metadata.finalizers: \"foo\": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"`}},
		{"existing finalizers", "PATCH", widgets + "/a", `{"metadata":{"labels":{"k":"w"}}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := []string{"Content-Type", "application/json"}
			if test.method == "PATCH" {
				header[1] = mergeType
			}
			a := s.do(test.method, test.path, test.body, header...)
			if diff := cmp.Diff(test.want, a.header.Values("Warning")); a.code >= 300 || diff != "" {
				t.Errorf("%d (-want +got):\n%s", a.code, diff)
			}
		})
	}
}

// TestGenerationCountsTheSpec checks that metadata and status do not change the generation.
func TestGenerationCountsTheSpec(t *testing.T) {
	s := newTestServer(t)
	s.must(http.StatusCreated, "POST", pods, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	for _, step := range []struct {
		path, patch string
		generation  float64
	}{
		{pods + "/p", `{"metadata":{"labels":{"a":"b"}}}`, 1},
		{pods + "/p/status", `{"status":{"phase":"Running"}}`, 1},
		{pods + "/p", `{"status":{"phase":"Failed"}}`, 1},
		{pods + "/p", `{"spec":{"activeDeadlineSeconds":5}}`, 2},
		{pods + "/p", `{"metadata":{"generation":9}}`, 2},
	} {
		pod := s.must(http.StatusOK, "PATCH", step.path, step.patch, "Content-Type", mergeType)
		if got := pod["metadata"].(map[string]any)["generation"]; got != step.generation {
			t.Errorf("%s: generation %v, want %v", step.patch, got, step.generation)
		}
		if phase := pod["status"]; phase != nil && phase.(map[string]any)["phase"] == "Failed" {
			t.Errorf("%s has changed the status", step.patch)
		}
	}
	// A ConfigMap has no generation, because no controller acts on it.
	s.must(http.StatusCreated, "POST", configMaps, configMap("a", `"generation":7`, ""))
	changed := s.must(http.StatusOK, "PATCH", configMaps+"/a", `{"data":{"k":"v"},"metadata":{"generation":9}}`, "Content-Type", mergeType)
	if got := changed["metadata"].(map[string]any)["generation"]; got != nil {
		t.Errorf("a ConfigMap has generation %v", got)
	}
}

// TestLeaseIsCreatedByUpdate checks that an update without a resourceVersion creates an object of a few kinds.
func TestLeaseIsCreatedByUpdate(t *testing.T) {
	s := newTestServer(t)
	lease := func(version string) string {
		return `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l","resourceVersion":"` + version + `"},"spec":{"leaseDurationSeconds":5}}`
	}
	s.must(http.StatusNotFound, "PUT", leases+"/l", lease("1"))
	made := s.must(http.StatusCreated, "PUT", leases+"/l", lease(""))
	s.must(http.StatusUnprocessableEntity, "PUT", leases+"/l", lease(""))
	s.must(http.StatusOK, "PUT", leases+"/l", lease(made["metadata"].(map[string]any)["resourceVersion"].(string)))
}
