package api

import (
	"encoding/json"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"revtail/encoding/gotype"
	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/kinds"
	"revtail/gateway/api/object"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Virtual returns the handlers of the virtual resources, by the pattern of their URL path.
func (h *Handler) Virtual() map[string]http.HandlerFunc {
	answers := map[string]review{
		"SelfSubjectAccessReview": reviewOf(h.reviewAccess), "SelfSubjectRulesReview": reviewOf(h.reviewRules), "SelfSubjectReview": reviewOf(h.reviewSelf),
		"SubjectAccessReview": reviewOf(h.reviewSubject), "LocalSubjectAccessReview": reviewOf(h.reviewLocalSubject), "TokenReview": reviewOf(h.reviewToken),
	}
	out := make(map[string]http.HandlerFunc, len(answers))
	components := h.components()
	for _, res := range kinds.Virtual() {
		if res.Kind == resource.BindingKind.Kind {
			out["/api/v1/namespaces/{namespace}/"+res.Plural] = h.serveBindings
			continue
		}
		if res.ReadOnly {
			serve := func(w http.ResponseWriter, r *http.Request) { h.fail(w, r, h.serveComponents(w, r, res, components)) }
			out[res.URL(resource.Scope{})], out[res.URL(resource.Scope{Name: "{name}"})] = serve, serve
			continue
		}
		path := "/apis/" + res.APIVersion() + "/"
		if res.Namespaced {
			path += "namespaces/{namespace}/"
		}
		out[path+res.Plural] = func(w http.ResponseWriter, r *http.Request) {
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
		if err := gotype.Decode(d.Object, question); err != nil {
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
	t := catalog.Target{Ref: resource.Ref{Resource: res, Scope: access.InfoOf(r).Scope}}
	question, f, err := h.readVirtual(w, r, t)
	if err == nil && res.Namespaced {
		err = object.SetNamespace(question, t.Ref)
	}
	if err != nil {
		return err
	}
	reviewed, err := answer(r, question)
	if err != nil {
		return err
	}
	return h.respondVirtual(w, r, t, f, reviewed)
}

// readVirtual reads an object that is answered and not stored, as Create reads one that is stored, and the representation of the answer.
func (h *Handler) readVirtual(w http.ResponseWriter, r *http.Request, t catalog.Target) (object.Object, response.Representation, error) {
	wr, f, err := h.readWrite(w, r, t)
	if err != nil {
		return object.Object{}, f, err
	}
	d, err := wr.Decode()
	sendWarnings(w, wr.Warnings)
	return d, f, err
}

// respondVirtual answers with an object that is not stored. It may have a token.
func (h *Handler) respondVirtual(w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return h.respondObject(w, r, t, f, http.StatusCreated, text)
}

// reviewRules sets the requests that the caller may make in a namespace. Like kube-apiserver it answers without the question.
func (h *Handler) reviewRules(r *http.Request, question *authorizationv1.SelfSubjectRulesReview) error {
	if question.Spec.Namespace == "" {
		return status.BadRequest("no namespace on request")
	}
	question.Status = h.Access.ReviewRules(r, question.Spec.Namespace)
	question.Spec = authorizationv1.SelfSubjectRulesReviewSpec{}
	return nil
}

// reviewSelf sets the user of the caller.
func (*Handler) reviewSelf(r *http.Request, question *authenticationv1.SelfSubjectReview) error {
	question.Status.UserInfo = access.UserOf(r)
	return nil
}

// reviewToken sets the user of a token.
func (h *Handler) reviewToken(r *http.Request, question *authenticationv1.TokenReview) error {
	if question.Spec.Token == "" {
		return status.BadRequest("token is required for TokenReview in authentication")
	}
	question.Status = h.Access.ReviewToken(r.Context(), question.Spec)
	return nil
}
