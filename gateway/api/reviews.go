package api

import (
	"encoding/json"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Reviews returns the handlers of the virtual resources, by URL path.
func (h *Handler) Reviews() map[string]http.HandlerFunc {
	answers := map[string]review{
		"SelfSubjectAccessReview": reviewOf(h.reviewAccess), "SelfSubjectRulesReview": reviewOf(h.reviewRules), "SelfSubjectReview": reviewOf(h.reviewSelf)}
	out := make(map[string]http.HandlerFunc, len(answers))
	for _, res := range resource.Virtual() {
		out["/apis/"+res.APIVersion()+"/"+res.Plural] = func(w http.ResponseWriter, r *http.Request) {
			h.fail(w, r, h.serveReview(w, r, res, answers[res.Kind]))
		}
	}
	return out
}

// review sets the status of a question.
type review func(r *http.Request, question object.Object) (any, error)

// reviewOf returns the review of a function that sets the status of a typed question.
func reviewOf[T any](answer func(r *http.Request, question *T) error) review {
	return func(r *http.Request, d object.Object) (any, error) {
		question := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
			return nil, status.BadRequest("%v", err)
		}
		return question, answer(r, question)
	}
}

func (h *Handler) serveReview(w http.ResponseWriter, r *http.Request, res *resource.Resource, answer review) error {
	if r.Method != http.MethodPost {
		response.MethodNotAllowed(w, r, http.MethodPost)
		return nil
	}
	question, err := h.readReview(w, r, res)
	if err != nil {
		return err
	}
	reviewed, err := answer(r, question)
	if err != nil {
		return err
	}
	text, err := json.Marshal(reviewed)
	if err != nil {
		return err
	}
	response.WriteJSON(w, r, http.StatusCreated, text)
	return nil
}

// readReview reads a question as Create reads an object.
func (h *Handler) readReview(w http.ResponseWriter, r *http.Request, res *resource.Resource) (object.Object, error) {
	wr, _, err := h.readWrite(w, r, catalog.Target{Ref: resource.Ref{Resource: res}})
	if err != nil {
		return object.Object{}, err
	}
	d, err := wr.Decode()
	sendWarnings(w, wr.Warnings)
	return d, err
}

// reviewAccess sets whether the caller may make a request.
func (h *Handler) reviewAccess(r *http.Request, question *authorizationv1.SelfSubjectAccessReview) error {
	if spec := question.Spec; (spec.ResourceAttributes == nil) == (spec.NonResourceAttributes == nil) {
		return apierrors.NewInvalid(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview").GroupKind(), "", field.ErrorList{
			field.Required(field.NewPath("spec", "resourceAttributes"), "exactly one of nonResourceAttributes or resourceAttributes must be specified")})
	}
	question.Status = h.Access.ReviewAccess(r, question.Spec)
	return nil
}

// reviewRules sets the requests that the caller may make in a namespace.
func (h *Handler) reviewRules(r *http.Request, question *authorizationv1.SelfSubjectRulesReview) error {
	if question.Spec.Namespace == "" {
		return status.BadRequest("no namespace on request")
	}
	question.Status = h.Access.ReviewRules(r, question.Spec.Namespace)
	return nil
}

// reviewSelf sets the user of the caller.
func (*Handler) reviewSelf(r *http.Request, question *authenticationv1.SelfSubjectReview) error {
	question.Status.UserInfo = access.UserOf(r)
	return nil
}
