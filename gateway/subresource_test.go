package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const scaled = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// TestScale reads and changes the number of replicas of a workload.
func TestScale(t *testing.T) {
	s := newTestServer(t)
	made := s.as("maker", http.StatusCreated, "POST", deployments, scaled)
	const d, scale = deployments + "/d", deployments + "/d/scale"
	s.must(http.StatusOK, "PATCH", d+"/status", `{"status":{"replicas":2}}`, "Content-Type", mergeType)
	shown := s.must(http.StatusOK, "GET", scale, "")
	metadata := shown["metadata"].(map[string]any)
	if shown["kind"] != "Scale" || shown["apiVersion"] != "autoscaling/v1" || metadata["name"] != "d" || metadata["namespace"] != "default" ||
		metadata["uid"] != made["metadata"].(map[string]any)["uid"] || metadata["resourceVersion"] == nil {
		t.Errorf("shown: %v", shown)
	}
	check := func(scale map[string]any, want string) {
		t.Helper()
		got, err := json.Marshal(map[string]any{"spec": scale["spec"], "status": scale["status"]})
		if err != nil || string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check(shown, `{"spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web"}}`)
	check(s.as("scaler", http.StatusOK, "PATCH", scale, `{"spec":{"replicas":5}}`, "Content-Type", mergeType), `{"spec":{"replicas":5},"status":{"replicas":2,"selector":"app=web"}}`)
	put := func(version, replicas string) string {
		return `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"d","labels":{"a":"b"},"resourceVersion":"` + version + `"},"spec":{"replicas":` + replicas + `}}`
	}
	now := s.must(http.StatusOK, "GET", d, "")
	check(s.must(http.StatusOK, "PUT", scale, put(versionOf(now), "0")), `{"spec":{},"status":{"replicas":2,"selector":"app=web"}}`)
	check(s.must(http.StatusOK, "PUT", scale, put("", "4")), `{"spec":{"replicas":4},"status":{"replicas":2,"selector":"app=web"}}`)
	s.must(http.StatusConflict, "PUT", scale, put("1", "4"))
	s.must(http.StatusBadRequest, "PUT", scale, scaled)
	s.must(http.StatusMethodNotAllowed, "DELETE", scale, "")
	s.must(http.StatusNotFound, "GET", deployments+"/x/scale", "")
	checkStatus(t, s.do("PATCH", scale, `{"spec":{"replicas":-1}}`, "Content-Type", mergeType), 422, "Invalid", `Scale.autoscaling "d" is invalid: spec.replicas`,
		"d autoscaling Scale spec.replicas=FieldValueInvalid")
	checkStatus(t, s.do("GET", pods+"/p/scale", ""), 404, "NotFound", `has no subresource "scale"`, "p pods")

	after := s.must(http.StatusOK, "GET", d, "")
	if after["spec"].(map[string]any)["replicas"] != 4.0 || after["metadata"].(map[string]any)["generation"] != 4.0 || after["metadata"].(map[string]any)["labels"] != nil {
		t.Errorf("the deployment: %v", after)
	}
}

// TestApplyToScale checks that the applying manager takes the replicas from the manager in the object.
func TestApplyToScale(t *testing.T) {
	s := newTestServer(t)
	s.as("maker", http.StatusCreated, "POST", deployments, scaled)
	const nine = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"d"},"spec":{"replicas":9}}`
	checkStatus(t, s.do("PATCH", deployments+"/d/scale?fieldManager=hpa", nine, "Content-Type", applyType), 409, "Conflict", `conflict with "maker" using apps/v1: .spec.replicas`,
		" .spec.replicas=FieldManagerConflict")
	s.apply(http.StatusOK, deployments+"/d/scale", "hpa&force=1", nine)
	got := managerEntries(t, s.must(http.StatusOK, "GET", deployments+"/d", ""))
	if len(got) != 2 || got[0] != "hpa Apply scale: {f:spec:{f:replicas}}" || strings.Contains(got[1], "replicas") {
		t.Errorf("managers: %v", got)
	}
	checkStatus(t, s.do("PATCH", deployments+"/d/scale?fieldManager=hpa", scaled, "Content-Type", applyType), 400, "BadRequest", "invalid object type: apps/v1, Kind=Deployment", "")
}

// TestScaleOfCustomResource checks that the replicas are at the path of the definition.
func TestScaleOfCustomResource(t *testing.T) {
	s := newTestServer(t)
	s.define(strings.Replace(widgetsDefinition, "statusReplicasPath: .status.replicas", "statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector", 1))
	const widgets = "/apis/example.com/v1/namespaces/default/widgets"
	s.must(http.StatusCreated, "POST", widgets, widget("w", `{}`))
	for _, step := range []struct{ replicas, want string }{
		{"", `{}`}, {"3", `{"replicas":3}`}, {"0", `{}`},
	} {
		shown := s.must(http.StatusOK, "GET", widgets+"/w/scale", "")
		if step.replicas != "" {
			shown = s.must(http.StatusOK, "PATCH", widgets+"/w/scale", `{"spec":{"replicas":`+step.replicas+`}}`, "Content-Type", mergeType)
		}
		if got, err := json.Marshal(shown["spec"]); err != nil || string(got) != step.want {
			t.Errorf("%q: %s, want %s", step.replicas, got, step.want)
		}
	}
	spec := s.must(http.StatusOK, "GET", widgets+"/w", "")["spec"]
	if diff := cmp.Diff(0.0, spec.(map[string]any)["replicas"]); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

// TestStatusWrites checks that a write of the status changes the status and, for kinds without a schema, the metadata that controllers
// write with it.
func TestStatusWrites(t *testing.T) {
	s := newTestServer(t)
	made := s.must(http.StatusCreated, "POST", pods, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	const other = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]},"spec":{"containers":[]},"status":{"phase":"Running"}}`
	pod := s.must(http.StatusOK, "PUT", pods+"/p/status", other)
	metadata := pod["metadata"].(map[string]any)
	if pod["status"].(map[string]any)["phase"] != "Running" || metadata["labels"] == nil || metadata["ownerReferences"] != nil || metadata["generation"] != 1.0 ||
		cmp.Diff(made["spec"], pod["spec"]) != "" {
		t.Errorf("after an update of the status: %v", pod)
	}
	checkStatus(t, s.do("PUT", pods+"/p/status", strings.Replace(other, `"name":"p"`, `"name":"p","resourceVersion":"1"`, 1)), 409, "Conflict", "has been modified", "p pods")
	s.must(http.StatusNotFound, "PUT", pods+"/q/status", strings.Replace(other, `"name":"p"`, `"name":"q"`, 1))
	s.must(http.StatusNotFound, "GET", configMaps+"/a/status", "")
	if got := s.must(http.StatusOK, "GET", pods+"/p/status", ""); cmp.Diff(pod, got) != "" {
		t.Errorf("shown: %v", got)
	}
	removed := s.must(http.StatusOK, "PUT", pods+"/p/status", strings.Replace(other, `,"status":{"phase":"Running"}`, "", 1))
	if !cmp.Equal(removed["status"], map[string]any{"qosClass": "BestEffort"}) { // which follows from the spec
		t.Errorf("removed: %v", removed["status"])
	}
	const web = "/apis/apps/v1/namespaces/default/deployments"
	s.must(http.StatusCreated, "POST", web, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{`+workloadSpec+`}}`)
	revised := s.must(http.StatusOK, "PUT", web+"/web/status", `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","labels":{"a":"b"},"annotations":{"revision":"1"}}}`)
	if m := revised["metadata"].(map[string]any); m["labels"] != nil || m["annotations"] == nil || m["generation"] != 1.0 {
		t.Errorf("a revision with the status: %v", m)
	}
}
