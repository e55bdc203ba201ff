package gateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/access/authorization"
	"revtail/gateway/resource"
)

// noPolicy is why everybody may do everything in a gateway without a policy.
const noPolicy = "revtail runs without --policy-file: whoever it lets in may do everything"

// userOf is who makes a request, as Kubernetes says it.
func userOf(r *http.Request) authenticationv1.UserInfo {
	identity := identityOf(r)
	return authenticationv1.UserInfo{Username: identity.Name, UID: identity.UID, Groups: identity.Groups}
}

// access answers whether a user may do one thing.
func (a *control) access(r *http.Request, spec authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	if a.policy == nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: noPolicy}
	}
	identity := identityOf(r)
	binding, ok := a.policy.Get().Allows(identity.Name, identity.Groups, asked(spec))
	if !ok {
		return authorizationv1.SubjectAccessReviewStatus{}
	}
	return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "RBAC: allowed by " + binding}
}

// asked is the request that somebody thinks of making. A path below /v1/keys is one of keys, as it would be.
func asked(spec authorizationv1.SelfSubjectAccessReviewSpec) authorization.Request {
	if a := spec.ResourceAttributes; a != nil {
		return authorization.Request{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name}
	}
	path, verb := spec.NonResourceAttributes.Path, spec.NonResourceAttributes.Verb
	if key, ok := strings.CutPrefix(path, "/v1/keys/"); ok {
		return authorization.Request{Verb: verb, Key: "/" + key}
	}
	return authorization.Request{Verb: verb, Path: path}
}

// rules are all that a user may do in a namespace, and outside of namespaces. Those about keys have no place in the answer.
func (a *control) rules(r *http.Request, namespace string) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	var held []authorization.Rule
	if a.policy == nil {
		held = authorization.Anything
	} else {
		identity := identityOf(r)
		held = a.policy.Get().Rules(identity.Name, identity.Groups, namespace)
	}
	for _, rule := range held {
		switch {
		case len(rule.Resources) > 0:
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		case len(rule.NonResourceURLs) > 0:
			status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		default:
			status.Incomplete, status.EvaluationError = true, "rules about keys are left out"
		}
	}
	return status
}

// reviewRoutes are the URLs of the virtual resources.
func (s *Server) reviewRoutes(r chi.Router) {
	reviews := map[string]review{
		"SelfSubjectAccessReview": s.reviewAccess, "SelfSubjectRulesReview": s.reviewRules, "SelfSubjectReview": s.reviewSelf}
	for _, res := range resource.Virtual() {
		r.HandleFunc("/apis/"+res.APIVersion()+"/"+res.Plural, func(w http.ResponseWriter, r *http.Request) {
			s.serveReview(w, r, target{Ref: resource.Ref{Resource: res}}, reviews[res.Kind])
		})
	}
}

// review answers the question in a document: with the same object, and its status.
type review func(r *http.Request, t target, d document) (any, error)

func (s *Server) serveReview(w http.ResponseWriter, r *http.Request, t target, answer review) {
	if r.Method != http.MethodPost {
		refuseMethod(w, r, http.MethodPost)
		return
	}
	d, err := s.readReview(w, r, t)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	answered, err := answer(r, t, d)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	text, err := json.Marshal(answered)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusCreated, text)
}

// readReview reads a question as if it was to be created.
func (s *Server) readReview(w http.ResponseWriter, r *http.Request, t target) (document, error) {
	wr, err := s.readWrite(w, r, t)
	if err != nil {
		return document{}, err
	}
	d, err := wr.decode()
	wr.sendWarnings(w)
	return d, err
}

// reviewAccess answers whether a client may do something.
func (s *Server) reviewAccess(r *http.Request, t target, d document) (any, error) {
	question := &authorizationv1.SelfSubjectAccessReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	if spec := question.Spec; (spec.ResourceAttributes == nil) == (spec.NonResourceAttributes == nil) {
		return nil, apierrors.NewInvalid(t.GroupKind(), "", field.ErrorList{
			field.Required(field.NewPath("spec", "resourceAttributes"), "exactly one of nonResourceAttributes or resourceAttributes must be specified")})
	}
	question.Status = s.access.access(r, question.Spec)
	return question, nil
}

// reviewRules answers what a client may do.
func (s *Server) reviewRules(r *http.Request, _ target, d document) (any, error) {
	question := &authorizationv1.SelfSubjectRulesReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	if question.Spec.Namespace == "" {
		return nil, badRequest("no namespace on request")
	}
	question.Status = s.access.rules(r, question.Spec.Namespace)
	return question, nil
}

// reviewSelf answers who a client is.
func (s *Server) reviewSelf(r *http.Request, _ target, d document) (any, error) {
	question := &authenticationv1.SelfSubjectReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	question.Status.UserInfo = userOf(r)
	return question, nil
}
