package gateway

import (
	"net/http"
	"strings"
	"testing"

	"revtail/etcdstore/memory"
)

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

// createPolicy creates a policy of ConfigMaps with an expression, and its binding.
func (s *testServer) createPolicy(name, operations, expression string) {
	s.t.Helper()
	for collection, body := range map[string]string{
		policies: `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"` + name + `"},"spec":{
			"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":[` + operations + `],"resources":["configmaps"]}]},
			"validations":[{"expression":"` + expression + `","message":"refused by ` + name + `"}]}}`,
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": `{"apiVersion":"admissionregistration.k8s.io/v1",
			"kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"` + name + `"},"spec":{"policyName":"` + name + `","validationActions":["Deny"]}}`,
	} {
		if a := s.do(http.MethodPost, collection, body); a.code != http.StatusCreated {
			s.t.Fatalf("create %s: %d %s", collection, a.code, a.body)
		}
	}
}

func (s *testServer) tryCreate(name string) answer {
	s.t.Helper()
	return s.do(http.MethodPost, configMaps+"?dryRun=All", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"`+name+`"}}`)
}

// TestPolicyFromTheStart checks that a policy is in force for the first write of a gateway that finds it in etcd.
func TestPolicyFromTheStart(t *testing.T) {
	store := memory.New()
	serveStore(t, store).createPolicy("short", `"CREATE"`, "size(object.metadata.name) < 3")
	s := serveStore(t, store)
	if a := s.tryCreate("long"); a.code != http.StatusUnprocessableEntity || !strings.Contains(a.body, "refused by short") {
		t.Errorf("%d %s, want a refusal", a.code, a.body)
	}
	if a := s.tryCreate("ok"); a.code != http.StatusCreated {
		t.Errorf("%d %s, want 201", a.code, a.body)
	}
}

// TestPolicyComesAndGoes checks that a policy is in force soon after it was created, and no more when it was deleted.
func TestPolicyComesAndGoes(t *testing.T) {
	s := newTestServer(t)
	s.create("before")
	s.createPolicy("none", `"CREATE", "DELETE"`, "false")
	await(t, "a refusal", func() bool { return s.tryCreate("x").code == http.StatusUnprocessableEntity })
	if a := s.do(http.MethodDelete, configMaps+"/before", ""); a.code != http.StatusUnprocessableEntity {
		t.Errorf("delete: %d %s, want a refusal", a.code, a.body)
	}
	if a := s.do(http.MethodDelete, policies+"/none", ""); a.code != http.StatusOK {
		t.Fatalf("delete of the policy: %d %s", a.code, a.body)
	}
	await(t, "a created object", func() bool { return s.tryCreate("x").code == http.StatusCreated })
}

// TestInvalidPolicy checks that a policy that cannot be compiled is refused.
func TestInvalidPolicy(t *testing.T) {
	s := newTestServer(t)
	a := s.do(http.MethodPost, policies, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"p"},"spec":{
		"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]},
		"validations":[{"expression":"object.x ++ 1"}]}}`)
	if a.code != http.StatusUnprocessableEntity || !strings.Contains(a.body, "compilation failed") {
		t.Errorf("%d %s, want a compilation error", a.code, a.body)
	}
}

// TestServiceWebhook checks that a webhook that names a service is refused by its failure policy, with the reason.
func TestServiceWebhook(t *testing.T) {
	for policy, want := range map[string]int{"Fail": http.StatusInternalServerError, "Ignore": http.StatusCreated} {
		t.Run(policy, func(t *testing.T) {
			s := newTestServer(t)
			a := s.do(http.MethodPost, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"apiVersion":"admissionregistration.k8s.io/v1",
				"kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},"webhooks":[{"name":"w.example.com","admissionReviewVersions":["v1"],"sideEffects":"None",
				"failurePolicy":"`+policy+`","clientConfig":{"service":{"name":"hook","namespace":"default"}},
				"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]}]}`)
			if a.code != http.StatusCreated {
				t.Fatalf("%d %s", a.code, a.body)
			}
			await(t, "the answer with the webhook", func() bool {
				a = s.tryCreate("x")
				return a.code == want
			})
			if policy == "Fail" && !strings.Contains(a.body, "use clientConfig.url") {
				t.Errorf("%s: want the reason", a.body)
			}
		})
	}
}
