package gatewaytest_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/gatewaytest"
)

// hooks are the answers of a webhook, by the path of its URL. Its label names it too: the webhook sees objects with hook=<path> only.
var hooks = map[string]func(review *admissionv1.AdmissionReview) (code int){
	"allow": func(r *admissionv1.AdmissionReview) int {
		r.Response.AuditAnnotations = map[string]string{"seen": "yes"}
		return http.StatusOK
	},
	"deny": func(r *admissionv1.AdmissionReview) int {
		r.Response.Allowed = false
		r.Response.Result = &metav1.Status{Message: "not " + string(r.Request.Operation) + " of " + r.Request.Resource.Resource, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}
		return http.StatusOK
	},
	"invalid": func(r *admissionv1.AdmissionReview) int {
		r.Response.Allowed = false
		r.Response.Result = &metav1.Status{Message: "wrong", Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.name", Message: "is wrong"}}}}
		return http.StatusOK
	},
	"silent": func(r *admissionv1.AdmissionReview) int { r.Response.Allowed = false; return http.StatusOK },
	"warn": func(r *admissionv1.AdmissionReview) int {
		r.Response.Warnings = []string{"first", "second"}
		return http.StatusOK
	},
	"broken":  func(*admissionv1.AdmissionReview) int { return http.StatusInternalServerError },
	"ignored": func(*admissionv1.AdmissionReview) int { return http.StatusInternalServerError },
	"slow":    func(*admissionv1.AdmissionReview) int { <-time.After(1500 * time.Millisecond); return http.StatusOK },
	"other":   func(r *admissionv1.AdmissionReview) int { r.Response.UID = "another"; return http.StatusOK },
	"label": func(r *admissionv1.AdmissionReview) int {
		return patched(r, `[{"op":"add","path":"/metadata/labels/by","value":"webhook"}]`)
	},
	"rename": func(r *admissionv1.AdmissionReview) int {
		return patched(r, `[{"op":"replace","path":"/metadata/namespace","value":"elsewhere"}]`)
	},
	"nonsense": func(r *admissionv1.AdmissionReview) int {
		return patched(r, `[{"op":"remove","path":"/absent/field"}]`)
	},
}

func patched(r *admissionv1.AdmissionReview, text string) int {
	kind := admissionv1.PatchTypeJSONPatch
	if r.Request.Operation != admissionv1.Delete {
		r.Response.Patch, r.Response.PatchType = []byte(text), &kind
	}
	return http.StatusOK
}

// startWebhook starts a webhook over TLS, and returns its URL and the certificate of its authority.
func startWebhook(t *testing.T) (url string, authority []byte) {
	t.Helper()
	issuer := gatewaytest.NewAuthority(t, "webhook")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		code := hooks[strings.TrimPrefix(r.URL.Path, "/")](review)
		if code != http.StatusOK {
			http.Error(w, "out of order", code)
			return
		}
		_ = json.NewEncoder(w).Encode(review) // the client may have gone
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{issuer.Issue(t, "localhost").TLS(t)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return "https://localhost" + server.URL[strings.LastIndexByte(server.URL, ':'):], issuer.PEM
}

// webhookConfigurations are one for the hooks that change objects, and one for the others.
func webhookConfigurations(url string, authority []byte) []map[string]any {
	changes := []string{"label", "rename", "nonsense"}
	configuration := func(kind string, names []string) map[string]any {
		var list []any
		for _, name := range names {
			policy, effects, timeout := "Fail", "None", 10
			switch name {
			case "ignored":
				policy = "Ignore"
			case "allow":
				effects = "Some"
			case "slow":
				timeout = 1
			}
			if kind == "ValidatingWebhookConfiguration" && effects == "Some" {
				effects = "NoneOnDryRun"
			}
			list = append(list, map[string]any{
				"name": name + ".example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": effects, "failurePolicy": policy,
				"timeoutSeconds": timeout, "clientConfig": map[string]any{"url": url + "/" + name, "caBundle": authority},
				"objectSelector": map[string]any{"matchLabels": map[string]any{"hook": name}},
				"rules": []any{map[string]any{"apiGroups": []any{"", "apps", "shop.example.com"}, "apiVersions": []any{"v1"},
					"operations": []any{"*"}, "resources": []any{"configmaps", "deployments", "widgets"}}},
			})
		}
		return map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": "hooks"}, "webhooks": list}
	}
	return []map[string]any{
		configuration("MutatingWebhookConfiguration", changes),
		configuration("ValidatingWebhookConfiguration", []string{"allow", "deny", "invalid", "silent", "warn", "broken", "ignored", "slow", "other"}),
	}
}
