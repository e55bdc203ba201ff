package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/resource"
)

// authorizer knows who asks and what they may do.
type authorizer interface {
	user(r *http.Request) authenticationv1.UserInfo
	// authorize answers whether a user may do one thing.
	authorize(user authenticationv1.UserInfo, access authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus
	// rules are all that a user may do in a namespace, and outside of namespaces. Where they cannot say it all, they say that
	// they are incomplete.
	rules(user authenticationv1.UserInfo, namespace string) authorizationv1.SubjectRulesReviewStatus
}

// everybody is the authorizer of a gateway that does not ask its clients who they are.
type everybody struct{}

func (everybody) user(*http.Request) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:unauthenticated"}}
}

func (everybody) authorize(authenticationv1.UserInfo, authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "revtail has no authorization yet: everybody may do everything"}
}

func (everybody) rules(authenticationv1.UserInfo, string) authorizationv1.SubjectRulesReviewStatus {
	anything := []string{"*"}
	return authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{{Verbs: anything, APIGroups: anything, Resources: anything}},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: anything, NonResourceURLs: anything}},
	}
}

// reviewRoutes are the URLs of the virtual resources.
func (s *Server) reviewRoutes(r chi.Router) {
	reviews := map[string]review{
		"SelfSubjectAccessReview": s.reviewAccess, "SelfSubjectRulesReview": s.reviewRules, "SelfSubjectReview": s.reviewSelf}
	for _, res := range resource.Virtual() {
		r.HandleFunc("/apis/"+res.APIVersion()+"/"+res.Plural, func(w http.ResponseWriter, r *http.Request) {
			s.serveReview(w, r, target{resource: res}, reviews[res.Kind])
		})
	}
}

// review answers the question in a document: with the same object, and its status.
type review func(r *http.Request, t target, d document) (any, error)

func (s *Server) serveReview(w http.ResponseWriter, r *http.Request, t target, answer review) {
	if r.Method != http.MethodPost {
		methodNotAllowed(w, r)
		return
	}
	d, err := readReview(w, r, t)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answered, err := answer(r, t, d)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	text, err := json.Marshal(answered)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusCreated, text)
}

// readReview reads a question as if it was to be created.
func readReview(w http.ResponseWriter, r *http.Request, t target) (document, error) {
	wr, err := readWrite(w, r, t)
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
		return nil, apierrors.NewInvalid(t.groupKind(), "", field.ErrorList{
			field.Required(field.NewPath("spec", "resourceAttributes"), "exactly one of nonResourceAttributes or resourceAttributes must be specified")})
	}
	question.Status = s.authorizer.authorize(s.authorizer.user(r), question.Spec)
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
	question.Status = s.authorizer.rules(s.authorizer.user(r), question.Spec.Namespace)
	return question, nil
}

// reviewSelf answers who a client is.
func (s *Server) reviewSelf(r *http.Request, _ target, d document) (any, error) {
	question := &authenticationv1.SelfSubjectReview{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, question); err != nil {
		return nil, badRequest("%v", err)
	}
	question.Status.UserInfo = s.authorizer.user(r)
	return question, nil
}
