package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWorkloadDefaults checks that a workload has the fields that its controller reads, whichever request wrote it.
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
				spec := strings.TrimSuffix(workloadSpec+","+strings.TrimSuffix(strings.TrimPrefix(test.spec, "{"), "}"), ",")
				return `{"apiVersion":"apps/v1","kind":"` + test.kind + `","metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`
			}
			check := func(how string, object map[string]any) {
				t.Helper()
				var missing []string
				if contains(want, object["spec"], "spec", &missing); len(missing) > 0 {
					t.Errorf("%s: %v: %v", how, missing, object["spec"])
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

// TestNamespaceDefaults checks that a namespace has its phase, and the label with its name, whichever request wrote it.
func TestNamespaceDefaults(t *testing.T) {
	s := newTestServer(t)
	const namespaces, body = "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"eu"}}`
	check := func(how, name, phase string, object map[string]any) {
		t.Helper()
		labels, _ := object["metadata"].(map[string]any)["labels"].(map[string]any)
		status, _ := object["status"].(map[string]any)
		if labels["kubernetes.io/metadata.name"] != name || status["phase"] != phase {
			t.Errorf("%s: %v", how, object)
		}
	}
	created := s.must(201, "POST", namespaces, body)
	check("created", "eu", "Active", created)
	replaced := s.must(200, "PUT", namespaces+"/eu", body)
	check("replaced", "eu", "Active", replaced)
	if revisionOf(replaced) != revisionOf(created) {
		t.Error("the same body changes the namespace")
	}
	check("patched", "eu", "Active", s.must(200, "PATCH", namespaces+"/eu", `{"metadata":{"labels":null}}`, "Content-Type", mergeType))
	check("generated", "", "Active", withoutName(t, s.must(201, "POST", namespaces, `{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"tmp-"}}`)))
	if _, err := s.store.Create(t.Context(), "/registry/namespaces/alien", []byte(strings.Replace(body, "eu", "alien", 1))); err != nil {
		t.Fatal(err)
	}
	check("by etcdctl", "alien", "Active", s.must(200, "GET", namespaces+"/alien", ""))
	selected := s.must(200, "GET", namespaces+"?labelSelector=kubernetes.io%2Fmetadata.name%3Dalien", "")["items"].([]any)
	if len(selected) != 1 {
		t.Errorf("selected by name: %v", selected)
	}
	s.must(201, "POST", "/api/v1/namespaces/eu/configmaps", configMap("held", `"finalizers":["example.com/x"]`, ""))
	check("deleted", "eu", "Terminating", s.must(200, "DELETE", namespaces+"/eu", ""))
}

// withoutName removes the generated name of a namespace, which its label has too.
func withoutName(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	metadata := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if name := metadata["name"]; name == "" || labels["kubernetes.io/metadata.name"] != name {
		t.Errorf("the labels of namespace %v: %v", name, labels)
	}
	metadata["labels"] = map[string]any{"kubernetes.io/metadata.name": ""}
	return object
}

// TestDefaultsAndApply checks that defaults have no manager, so that any manager may set them.
func TestDefaultsAndApply(t *testing.T) {
	s := newTestServer(t)
	const path = "/apis/apps/v1/namespaces/default/deployments/web"
	const head = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":`
	s.apply(201, path, "one", head+`{"paused":true,`+workloadSpec+`}}`)
	got := managerEntries(t, s.apply(200, path, "two", head+`{"replicas":3}}`))
	if len(got) != 2 || strings.Contains(got[0], "f:replicas") || got[1] != "two Apply: {f:spec:{f:replicas}}" {
		t.Errorf("managers: %q", got)
	}
}
