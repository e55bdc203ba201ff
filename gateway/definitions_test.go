package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/kinds"
	"revtail/gateway/claim"
)

const widgetsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: Widget is a thing of some color.
        type: object
        properties:
          spec:
            description: What the widget should be.
            type: object
            properties:
              color: {type: string, description: Its color.}
              size: {type: integer, default: 3, minimum: 1}
              max: {type: integer}
              replicas: {type: integer}
              port: {x-kubernetes-int-or-string: true}
            x-kubernetes-validations:
            - {rule: "!has(self.max) || self.size <= self.max", message: size is greater than max}
          status:
            type: object
            properties:
              replicas: {type: integer}
`

const (
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets = "/apis/example.com/v1/namespaces/default/widgets"
)

// asJSON returns a manifest as JSON.
func asJSON(t *testing.T, manifest string) string {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func decodeJSON(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("not JSON: %v: %.200s", err, text)
	}
	return value
}

// must sends a request that must be answered with a code, and returns the object.
func (s *testServer) must(code int, method, path, body string, header ...string) map[string]any {
	s.t.Helper()
	a := s.do(method, path, body, header...)
	if a.code != code {
		s.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.code, code, a.body)
	}
	return a.json(s.t)
}

// define creates a definition and waits until it is established.
func (s *testServer) define(manifest string) {
	s.t.Helper()
	created := s.must(http.StatusCreated, http.MethodPost, crds, asJSON(s.t, manifest))
	s.established(text(s.t, created, "metadata", "name"))
}

func (s *testServer) established(name string) {
	s.t.Helper()
	await(s.t, name+" to be established", func() bool { return s.conditions(name)["Established"] == "True" })
}

// conditions returns the conditions of a definition, with their reasons if they are not true.
func (s *testServer) conditions(name string) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	status, _ := s.get(crds + "/" + name).json(s.t)["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		is := text(s.t, c, "status")
		if is == "False" {
			is += " " + text(s.t, c, "reason")
		}
		out[text(s.t, c, "type")] = is
	}
	return out
}

// served reports whether a collection exists.
func (s *testServer) served(path string) bool { return s.get(path).code == http.StatusOK }

func widget(name, spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

func TestDefinitionIsServed(t *testing.T) {
	s := newTestServer(t)
	before := s.get("/apis").header.Get("ETag")
	s.define(widgetsDefinition)

	if diff := cmp.Diff(map[string]string{"Established": "True", "NamesAccepted": "True"}, s.conditions("widgets.example.com")); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	names := s.get(crds + "/widgets.example.com").json(t)["status"].(map[string]any)["acceptedNames"]
	want := map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
		"shortNames": []any{"wd"}, "categories": []any{"all"}}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("accepted names (-want +got):\n%s", diff)
	}
	if after := s.get("/apis").header.Get("ETag"); after == before {
		t.Error("the ETag of discovery has not changed")
	}
	list := s.get("/apis/example.com/v1").json(t)["resources"].([]any)
	got := map[string]string{}
	for _, r := range list {
		got[text(t, r, "name")] = text(t, r, "kind")
	}
	if diff := cmp.Diff(map[string]string{"widgets": "Widget", "widgets/status": "Widget", "widgets/scale": "Scale"}, got); diff != "" {
		t.Errorf("discovery (-want +got):\n%s", diff)
	}
	if kind := text(t, s.must(http.StatusOK, http.MethodGet, widgets, ""), "kind"); kind != "WidgetList" {
		t.Errorf("the list is a %s", kind)
	}
}

func TestCustomResourcesFollowTheirSchema(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	for _, test := range []struct {
		name, spec, query string
		code              int
		want              string // the stored spec, or a cause of the refusal
	}{
		{"defaults are set", `{"color":"red"}`, "", 201, `{"color":"red","size":3}`},
		{"unknown fields are removed", `{"color":"red","hue":1}`, "", 201, `{"color":"red","size":3}`},
		{"unknown fields are refused when asked for", `{"hue":1}`, "?fieldValidation=Strict", 400, `unknown field \"spec.hue\"`},
		{"types are checked", `{"color":1}`, "", 422, `"FieldValueTypeInvalid"`},
		{"bounds are checked", `{"size":0}`, "", 422, `should be greater than or equal to 1`},
		{"rules are checked", `{"size":5,"max":4}`, "", 422, `size is greater than max`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.do(http.MethodPost, widgets+test.query, widget(strings.ReplaceAll(test.name, " ", "-"), test.spec))
			if a.code != test.code {
				t.Fatalf("%d %s", a.code, a.body)
			}
			if a.code != http.StatusCreated {
				if !strings.Contains(a.body, test.want) {
					t.Errorf("answer without %s: %s", test.want, a.body)
				}
				return
			}
			if diff := cmp.Diff(decodeJSON(t, test.want), a.json(t)["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if warned := strings.Contains(a.header.Get("Warning"), `unknown field \"spec.hue\"`); warned != strings.Contains(test.spec, "hue") {
				t.Errorf("Warning: %s", a.header.Get("Warning"))
			}
		})
	}
}

func TestCustomResourcesAreSelectedByFields(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	for name, color := range map[string]string{"one": "red", "two": "blue"} {
		s.must(http.StatusCreated, http.MethodPost, widgets, widget(name, `{"color":"`+color+`"}`))
	}
	items := s.must(http.StatusOK, http.MethodGet, widgets+"?fieldSelector=spec.color%3Dred", "")["items"].([]any)
	if len(items) != 1 || text(t, items[0], "metadata", "name") != "one" {
		t.Errorf("red objects: %v", items)
	}
	s.must(http.StatusBadRequest, http.MethodGet, widgets+"?fieldSelector=spec.nope%3Dred", "")
	s.must(http.StatusBadRequest, http.MethodGet, widgets+"?watch=1&fieldSelector=spec.nope%3Dred", "")
	s.must(http.StatusBadRequest, http.MethodDelete, configMaps+"?fieldSelector=nonsense%3Dred", "")
	checkStatus(t, s.get(widgets+"?fieldSelector=spec.colour%3Dred"), 400, "BadRequest", "field label not supported: spec.colour (did you mean spec.color?)", "")
}

func TestTwoVersionsShowTheSameObjects(t *testing.T) {
	s := newTestServer(t)
	s.define(withSecondVersion)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{"color":"red"}`))
	second := strings.ReplaceAll(widgets, "/v1/", "/v2/")

	got := s.must(http.StatusOK, http.MethodGet, second+"/one", "")
	if text(t, got, "apiVersion") != "example.com/v2" || text(t, got, "spec", "color") != "red" {
		t.Errorf("in v2: %v", got)
	}
	got["spec"].(map[string]any)["color"] = "blue"
	changed, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	s.must(http.StatusOK, http.MethodPut, second+"/one", string(changed))
	if got := s.must(http.StatusOK, http.MethodGet, widgets+"/one", ""); text(t, got, "apiVersion") != "example.com/v1" || text(t, got, "spec", "color") != "blue" {
		t.Errorf("in v1: %v", got)
	}
	tried := s.must(http.StatusCreated, http.MethodPost, second+"?dryRun=All", strings.ReplaceAll(widget("two", `{}`), "/v1", "/v2"))
	if version := text(t, tried, "apiVersion"); version != "example.com/v2" {
		t.Errorf("a dry run in v2 answers in %s", version)
	}
	kv, _, err := s.store.Get(t.Context(), "/registry/example.com/widgets/default/one")
	if err != nil || text(t, decodeJSON(t, string(kv.Value)), "apiVersion") != "example.com/v1" {
		t.Errorf("stored: %v %s", err, kv.Value)
	}
	if preferred := text(t, s.get("/apis/example.com").json(t), "preferredVersion", "version"); preferred != "v2" {
		t.Errorf("%s is preferred", preferred)
	}
}

// withSecondVersion is widgetsDefinition with a version v2 that has any fields.
const withSecondVersion = widgetsDefinition + `  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func TestNameConflict(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, crds, asJSON(t, otherOfTheSameKind))
	await(t, "a verdict", func() bool { return len(s.conditions("gadgets.example.com")) == 2 })

	want := map[string]string{"NamesAccepted": "False KindConflict", "Established": "False NotAccepted"}
	if diff := cmp.Diff(want, s.conditions("gadgets.example.com")); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	const gadgets = "/apis/example.com/v1/gadgets"
	if s.served(gadgets) || !s.served(widgets) {
		t.Error("the younger definition is served, or the older one is not")
	}
	// The name is free after the deletion of the older one.
	s.must(http.StatusOK, http.MethodDelete, crds+"/widgets.example.com", "")
	s.established("gadgets.example.com")
	if !s.served(gadgets) || s.served(widgets) {
		t.Error("the younger definition is not served, or the older one still is")
	}
}

const otherOfTheSameKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: gadgets, singular: gadget, kind: Widget, listKind: GadgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

func TestChangedSchemaTakesEffect(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{"color":"red"}`))
	s.must(http.StatusOK, http.MethodPatch, crds+"/widgets.example.com",
		`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/hue","value":{"type":"string","default":"deep"}}]`,
		"Content-Type", "application/json-patch+json")

	await(t, "the new default in an old object", func() bool {
		hue, _ := s.get(widgets + "/one").json(t)["spec"].(map[string]any)["hue"].(string)
		return hue == "deep"
	})
	created := s.must(http.StatusCreated, http.MethodPost, widgets, widget("two", `{"hue":"light"}`))
	if text(t, created, "spec", "hue") != "light" {
		t.Errorf("created: %v", created)
	}
	s.must(http.StatusUnprocessableEntity, http.MethodPost, widgets, widget("three", `{"hue":1}`))
}

// Definitions may exist in etcd already, or come from a program that writes no status.
func TestDefinitionOfAnotherProgram(t *testing.T) {
	s := newTestServer(t)
	if _, err := s.store.Create(t.Context(), "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com", []byte(asJSON(t, widgetsDefinition))); err != nil {
		t.Fatal(err)
	}
	s.established("widgets.example.com")
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{}`))
}

// A definition that is the first write of all has its status at once, though its event comes before its write has returned.
func TestDefinitionThatIsTheFirstWrite(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := lateStore{memory.New()}
		owner, err := claim.Open(t.Context(), claim.Config{Store: store, Prefix: "/registry", Builtin: kinds.Builtin(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil || owner.State().Owner != claim.Unclaimed {
			t.Fatalf("the data is %+v (%v)", owner.State(), err)
		}
		b := newBubbleWith(t, Options{Store: store, Claim: owner})
		b.must(http.StatusCreated, http.MethodPost, crds, asJSON(t, widgetsDefinition))
		synctest.Wait()
		if got := b.do(http.MethodGet, crds+"/widgets.example.com", ""); !strings.Contains(got.body, `"type":"Established"`) {
			t.Errorf("the definition has no status: %s", got.body)
		}
	})
}

// lateStore answers a transaction some time after its events.
type lateStore struct{ *memory.Store }

func (s lateStore) Transact(ctx context.Context, txn etcdstore.Txn) (etcdstore.TxnResult, error) {
	result, err := s.Store.Transact(ctx, txn)
	<-time.After(100 * time.Millisecond)
	return result, err
}

func TestDefinitionsAreServedAfterARestart(t *testing.T) {
	store := memory.New()
	first := serveStore(t, store)
	first.define(widgetsDefinition)
	first.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{}`))

	if again := serveStore(t, store); !again.served(widgets + "/one") { // the server is ready
		t.Error("the object is not served")
	}
}

func TestInvalidDefinitions(t *testing.T) {
	s := newTestServer(t)
	for name, test := range map[string]struct{ old, new, field string }{
		"name":              {"name: widgets.example.com", "name: wrong.example.com", "metadata.name"},
		"no storage":        {"storage: true", "storage: false", "spec.versions"},
		"not structural":    {"color: {type: string", "color: {minLength: 1", "spec.validation.openAPIV3Schema.properties[spec].properties[color].type"},
		"default":           {"default: 3", "default: x", "spec.validation.openAPIV3Schema.properties[spec].properties[size].default"},
		"rule":              {"has(self.max)", "has(self.nope)", "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"},
		"conversion":        {"scope: Namespaced", "conversion: {strategy: Webhook}\n  scope: Namespaced", "spec.conversion.webhookClientConfig"},
		"replicas path":     {".spec.replicas,", ".replicas,", "spec.subresources.scale.specReplicasPath"},
		"a reference":       {"color: {type: string", "color: {$ref: x, type: string", "spec.versions[0].schema.openAPIV3Schema"},
		"empty schema":      {"openAPIV3Schema:", "other:", "spec.versions[0].schema.openAPIV3Schema"},
		"unknown selection": {"jsonPath: .spec.color}]", "jsonPath: .spec.nope}]", "spec.selectableFields[0].jsonPath"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := strings.Replace(widgetsDefinition, test.old, test.new, 1)
			refusal := s.must(http.StatusUnprocessableEntity, http.MethodPost, crds, asJSON(t, manifest))
			causes := refusal["details"].(map[string]any)["causes"].([]any)
			if !slices.ContainsFunc(causes, func(c any) bool { return c.(map[string]any)["field"] == test.field }) {
				t.Errorf("no cause for %s: %v", test.field, causes)
			}
		})
	}
}

// TestNamedFields checks the fields that clients select by a name of kube-apiserver, which is no path.
func TestNamedFields(t *testing.T) {
	s := newTestServer(t)
	const events = "/api/v1/namespaces/default/events"
	for name, more := range map[string]string{"a": `"source":{"component":"kubelet"}`, "b": `"reportingComponent":"kubelet"`, "c": `"source":{"component":"x"},"reportingComponent":"kubelet"`} {
		s.must(http.StatusCreated, http.MethodPost, events, `{"metadata":{"name":"`+name+`","namespace":"default"},"involvedObject":{"namespace":"default"},`+more+`}`)
	}
	for path, want := range map[string]string{
		events + "?fieldSelector=source%3Dkubelet":            "[default/a default/b]",
		events + "?fieldSelector=source!%3Dkubelet":           "[default/c]",
		"/api/v1/namespaces?fieldSelector=name%3Dkube-system": "[kube-system]",
	} {
		if got := fmt.Sprint(s.names(path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if watched := s.get(events + "?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=source%3Dx").body; strings.Count(watched, `"type":"ADDED"`) != 1 {
		t.Errorf("watched: %s", watched)
	}
}
