package gateway

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWorkloadDefaults: the fields of a workload that its controller reads are there, whoever wrote it and however.
func TestWorkloadDefaults(t *testing.T) {
	s := newTestServer(t)
	const rolling = `{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}}`
	deployment := func(strategy string) string {
		return `{"replicas":1,"revisionHistoryLimit":10,"progressDeadlineSeconds":600,"strategy":` + strategy + `}`
	}
	statefulSet := func(strategy string) string {
		return `{"replicas":1,"revisionHistoryLimit":10,"podManagementPolicy":"OrderedReady","updateStrategy":` + strategy +
			`,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}}`
	}
	for name, test := range map[string]struct{ plural, kind, spec, want string }{
		"deployment":          {"deployments", "Deployment", `{}`, deployment(rolling)},
		"no-spec":             {"deployments", "Deployment", `null`, deployment(rolling)},
		"as-kubectl-creates":  {"deployments", "Deployment", `{"replicas":null,"strategy":{"type":""}}`, deployment(rolling)},
		"what-is-there-stays": {"deployments", "Deployment", `{"replicas":0,"strategy":{"rollingUpdate":{"maxSurge":1}}}`, `{"replicas":0,"revisionHistoryLimit":10,"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}}}`},
		"recreated":           {"deployments", "Deployment", `{"strategy":{"type":"Recreate"}}`, deployment(`{"type":"Recreate"}`)},
		"replica-set":         {"replicasets", "ReplicaSet", `{}`, `{"replicas":1}`},
		"stateful-set":        {"statefulsets", "StatefulSet", `{}`, statefulSet(`{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`)},
		"stateful-on-delete":  {"statefulsets", "StatefulSet", `{"updateStrategy":{"type":"OnDelete"}}`, statefulSet(`{"type":"OnDelete"}`)},
		"daemon-set":          {"daemonsets", "DaemonSet", `{}`, `{"revisionHistoryLimit":10,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			collection := "/apis/apps/v1/namespaces/default/" + test.plural
			body := func(name string) string {
				return `{"apiVersion":"apps/v1","kind":"` + test.kind + `","metadata":{"name":"` + name + `"},"spec":` + test.spec + `}`
			}
			check := func(how string, object map[string]any) {
				t.Helper()
				if diff := cmp.Diff(want, object["spec"]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
				if generation := object["metadata"].(map[string]any)["generation"]; how != "by etcdctl" && generation != 1.0 {
					t.Errorf("%s: generation %v", how, generation)
				}
			}
			check("created", s.must(201, "POST", collection, body(name)))
			check("replaced", s.must(200, "PUT", collection+"/"+name, body(name)))
			check("patched", s.must(200, "PATCH", collection+"/"+name, `{"spec":{"revisionHistoryLimit":null}}`, "Content-Type", "application/merge-patch+json"))
			if _, err := s.store.Create(t.Context(), "/registry/apps/"+test.plural+"/default/alien-"+name, []byte(body("alien-"+name))); err != nil {
				t.Fatal(err)
			}
			check("by etcdctl", s.must(200, "GET", collection+"/alien-"+name, ""))
		})
	}
}

// TestDefaultsAndApply: defaults belong to nobody, so that whoever comes next may set them.
func TestDefaultsAndApply(t *testing.T) {
	s := newTestServer(t)
	const path = "/apis/apps/v1/namespaces/default/deployments/web"
	const head = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":`
	s.apply(201, path, "one", head+`{"paused":true}}`)
	want := []string{"one Apply: {f:spec:{f:paused}}", "two Apply: {f:spec:{f:replicas}}"}
	if diff := cmp.Diff(want, managers(t, s.apply(200, path, "two", head+`{"replicas":3}}`))); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
}
