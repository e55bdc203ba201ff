package gateway

import (
	"encoding/json"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/resource"
)

// reviews are the handlers of the virtual resources, by their URL.
func (h *apiHandler) reviews() map[string]http.HandlerFunc {
	answers := map[string]review{
		"SelfSubjectAccessReview": h.reviewAccess, "SelfSubjectRulesReview": h.reviewRules, "SelfSubjectReview": h.reviewSelf}
	out := make(map[string]http.HandlerFunc, len(answers))
	for _, res := range resource.Virtual() {
		out["/apis/"+res.APIVersion()+"/"+res.Plural] = func(w http.ResponseWriter, r *http.Request) {
			h.serveReview(w, r, target{Ref: resource.Ref{Resource: res}}, answers[res.Kind])
		}
	}
	return out
}

// review answers the question in a document: with the same object, and its status.
type review func(r *http.Request, t target, d document) (any, error)

func (h *apiHandler) serveReview(w http.ResponseWriter, r *http.Request, t target, answer review) {
	if r.Method != http.MethodPost {
		refuseMethod(w, r, http.MethodPost)
		return
	}
	d, err := h.readReview(w, r, t)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	answered, err := answer(r, t, d)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	text, err := json.Marshal(answered)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusCreated, text)
}

// readReview reads a question as if it was to be created.
func (h *apiHandler) readReview(w http.ResponseWriter, r *http.Request, t target) (document, error) {
	wr, _, err := h.readWrite(w, r, t)
	if err != nil {
		return document{}, err
	}
	d, err := wr.decode()
	sendWarnings(w, wr.warnings)
	return d, err
}

// reviewAccess answers whether a client may do something.
func (h *apiHandler) reviewAccess(r *http.Request, t target, d document) (any, error) {
	question := &authorizationv1.SelfSubjectAccessReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	if spec := question.Spec; (spec.ResourceAttributes == nil) == (spec.NonResourceAttributes == nil) {
		return nil, apierrors.NewInvalid(t.GroupKind(), "", field.ErrorList{
			field.Required(field.NewPath("spec", "resourceAttributes"), "exactly one of nonResourceAttributes or resourceAttributes must be specified")})
	}
	question.Status = h.access.access(r, question.Spec)
	return question, nil
}

// reviewRules answers what a client may do.
func (h *apiHandler) reviewRules(r *http.Request, _ target, d document) (any, error) {
	question := &authorizationv1.SelfSubjectRulesReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	if question.Spec.Namespace == "" {
		return nil, badRequest("no namespace on request")
	}
	question.Status = h.access.rules(r, question.Spec.Namespace)
	return question, nil
}

// reviewSelf answers who a client is.
func (h *apiHandler) reviewSelf(r *http.Request, _ target, d document) (any, error) {
	question := &authenticationv1.SelfSubjectReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	question.Status.UserInfo = userOf(r)
	return question, nil
}
