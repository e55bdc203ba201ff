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
		"SelfSubjectAccessReview": reviewOf(h.reviewAccess), "SelfSubjectRulesReview": reviewOf(h.reviewRules), "SelfSubjectReview": reviewOf(h.reviewSelf)}
	out := make(map[string]http.HandlerFunc, len(answers))
	for _, res := range resource.Virtual() {
		out["/apis/"+res.APIVersion()+"/"+res.Plural] = func(w http.ResponseWriter, r *http.Request) {
			h.serveReview(w, r, res, answers[res.Kind])
		}
	}
	return out
}

// review answers the question in an object by the same object with a status.
type review func(r *http.Request, question document) (any, error)

// reviewOf makes a review of a function that sets the status of a typed question.
func reviewOf[T any](answer func(r *http.Request, question *T) error) review {
	return func(r *http.Request, d document) (any, error) {
		question := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
			return nil, badRequest("%v", err)
		}
		return question, answer(r, question)
	}
}

func (h *apiHandler) serveReview(w http.ResponseWriter, r *http.Request, res *resource.Resource, answer review) {
	if r.Method != http.MethodPost {
		refuseMethod(w, r, http.MethodPost)
		return
	}
	question, err := h.readReview(w, r, res)
	var answered any
	if err == nil {
		answered, err = answer(r, question)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(answered)
	}
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusCreated, text)
}

// readReview reads a question like an object to be created.
func (h *apiHandler) readReview(w http.ResponseWriter, r *http.Request, res *resource.Resource) (document, error) {
	wr, _, err := h.readWrite(w, r, target{Ref: resource.Ref{Resource: res}})
	if err != nil {
		return document{}, err
	}
	d, err := wr.decode()
	sendWarnings(w, wr.warnings)
	return d, err
}

// reviewAccess says whether the caller may do something.
func (h *apiHandler) reviewAccess(r *http.Request, question *authorizationv1.SelfSubjectAccessReview) error {
	if spec := question.Spec; (spec.ResourceAttributes == nil) == (spec.NonResourceAttributes == nil) {
		return apierrors.NewInvalid(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview").GroupKind(), "", field.ErrorList{
			field.Required(field.NewPath("spec", "resourceAttributes"), "exactly one of nonResourceAttributes or resourceAttributes must be specified")})
	}
	question.Status = h.access.access(r, question.Spec)
	return nil
}

// reviewRules says what the caller may do.
func (h *apiHandler) reviewRules(r *http.Request, question *authorizationv1.SelfSubjectRulesReview) error {
	if question.Spec.Namespace == "" {
		return badRequest("no namespace on request")
	}
	question.Status = h.access.rules(r, question.Spec.Namespace)
	return nil
}

// reviewSelf says who the caller is.
func (*apiHandler) reviewSelf(r *http.Request, question *authenticationv1.SelfSubjectReview) error {
	question.Status.UserInfo = userOf(r)
	return nil
}
