package gateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/api/discovery"
)

// deprecatedDefinition is withSecondVersion with a deprecated version v1.
var deprecatedDefinition = strings.Replace(withSecondVersion, "name: v1\n", "name: v1\n    deprecated: true\n", 1)

func TestDeprecatedVersionWarns(t *testing.T) {
	second := strings.ReplaceAll(widgets, "/v1/", "/v2/")
	for name, test := range map[string]struct{ definition, want string }{
		"a better version":  {deprecatedDefinition, "example.com/v1 Widget is deprecated; use example.com/v2 Widget"},
		"no better version": {strings.Replace(deprecatedDefinition, "name: v2", "name: v1beta1", 1), "example.com/v1 Widget is deprecated"},
		"its own warning": {strings.Replace(deprecatedDefinition, "deprecated: true", `deprecated: true
    deprecationWarning: say "gadget"`, 1), `say \"gadget\"`},
		"not deprecated": {withSecondVersion, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			s.define(test.definition)
			want := ""
			if test.want != "" {
				want = `299 - "` + test.want + `"`
			}
			for _, a := range []answer{
				s.do(http.MethodPost, widgets, widget("one", `{"size":2}`)),
				s.get(widgets),
				s.get(widgets + "/one"),
				s.get(widgets + "/one/scale"),
				s.get(widgets + "/absent"),
				s.get(widgets + "?watch=1&timeoutSeconds=1"),
				s.do(http.MethodPatch, widgets+"/one", `{"spec":{"size":4}}`, "Content-Type", "application/merge-patch+json"),
				s.do(http.MethodDelete, widgets+"/one", ""),
			} {
				if got := a.header.Get("Warning"); got != want {
					t.Errorf("%d %.80s: Warning: %s, want %s", a.code, a.body, got, want)
				}
			}
			if a := s.get(second); a.header.Get("Warning") != "" {
				t.Errorf("in the other version: %s", a.header.Get("Warning"))
			}
		})
	}
}

func TestDeprecatedOperations(t *testing.T) {
	s := newTestServer(t)
	s.define(deprecatedDefinition)
	for path, item := range readSwagger(t, s.server).Paths.Paths {
		deprecated := strings.HasPrefix(path, "/apis/example.com/v1/") || strings.HasPrefix(path, "/api/v1/") && (strings.Contains(path, "/endpoints") || strings.Contains(path, "/componentstatuses"))
		if item.Get != nil && item.Get.Deprecated != deprecated {
			t.Errorf("%s is deprecated: %v", path, item.Get.Deprecated)
		}
	}
}

// TestSelectableFieldsAreDescribed checks that both versions of OpenAPI have the selectable fields of a definition.
func TestSelectableFieldsAreDescribed(t *testing.T) {
	s := newTestServer(t)
	s.define(widgetsDefinition)
	want := []any{map[string]any{"fieldPath": "spec.color"}}
	v3, v2 := readOpenAPI(t, s.server, "apis/example.com/v1").Components.Schemas, readSwagger(t, s.server).Definitions
	for _, name := range []string{"com.example.v1.Widget", "com.example.v1.WidgetList"} {
		if diff := cmp.Diff(want, v3[name].Extensions["x-kubernetes-selectable-fields"]); diff != "" {
			t.Errorf("%s in v3 (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, v2[name].Extensions["x-kubernetes-selectable-fields"]); diff != "" {
			t.Errorf("%s in v2 (-want +got):\n%s", name, diff)
		}
	}
}

// TestScaleOfACustomResource checks that every verb answers with a Scale of autoscaling/v1, and that both forms of discovery say so,
// because kubectl scale reads nothing else.
func TestScaleOfACustomResource(t *testing.T) {
	s := newTestServer(t)
	s.define(withSecondVersionScaled)
	s.must(http.StatusCreated, http.MethodPost, widgets, widget("one", `{"replicas":1}`))
	const put = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"one"},"spec":{"replicas":3}}`
	for _, version := range []string{"v1", "v2"} {
		scale := strings.ReplaceAll(widgets, "/v1/", "/"+version+"/") + "/one/scale"
		for _, accept := range []string{"", "application/vnd.kubernetes.protobuf,application/json"} {
			for name, a := range map[string]answer{
				"get":       s.get(scale, "Accept", accept),
				"patch":     s.do(http.MethodPatch, scale, `{"spec":{"replicas":2}}`, "Content-Type", "application/merge-patch+json", "Accept", accept),
				"no change": s.do(http.MethodPatch, scale, `{"spec":{"replicas":2}}`, "Content-Type", "application/merge-patch+json", "Accept", accept),
				"dry run":   s.do(http.MethodPatch, scale+"?dryRun=All", `{"spec":{"replicas":9}}`, "Content-Type", "application/merge-patch+json", "Accept", accept),
				"update":    s.do(http.MethodPut, scale, put, "Accept", accept),
			} {
				got := a.decodedAny(t)
				if a.code != http.StatusOK || got["kind"] != "Scale" || got["apiVersion"] != "autoscaling/v1" {
					t.Errorf("%s in %s: %d %s", name, version, a.code, a.body)
				}
			}
		}
		checkStatus(t, s.do(http.MethodPatch, scale, `{"spec":{"replicas":-1}}`, "Content-Type", mergeType), 422, "Invalid",
			`.spec.replicas: Invalid value: -1: should be a non-negative integer`, "one example.com Widget .spec.replicas=FieldValueInvalid")
		legacy := s.get("/apis/example.com/" + version).json(t)["resources"].([]any)
		i := slices.IndexFunc(legacy, func(r any) bool { return text(t, r, "name") == "widgets/scale" })
		if i < 0 || text(t, legacy[i], "group") != "autoscaling" || text(t, legacy[i], "version") != "v1" || text(t, legacy[i], "kind") != "Scale" {
			t.Errorf("discovery of %s: %v", version, legacy)
		}
	}
	aggregated := s.get("/apis", "Accept", discovery.AggregatedType).body
	const kind = `{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"}`
	if n := strings.Count(aggregated[strings.Index(aggregated, `"example.com"`):], kind); n != 2 {
		t.Errorf("%d of 2 in the aggregated discovery: %s", n, aggregated)
	}
}

// withSecondVersionScaled is withSecondVersion with a scale subresource in both versions.
const withSecondVersionScaled = withSecondVersion + `    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
`
