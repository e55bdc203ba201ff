package access

import (
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"revtail/gateway/access/authorization"
)

// NoPolicy is the reason of a review without a policy.
const NoPolicy = "revtail runs without --policy-file: every authenticated request is allowed"

// UserOf returns the user of a request in the form of Kubernetes.
func UserOf(r *http.Request) authenticationv1.UserInfo {
	identity := identityOf(r)
	return authenticationv1.UserInfo{Username: identity.Name, UID: identity.UID, Groups: identity.Groups}
}

// ReviewAccess answers a SelfSubjectAccessReview of the caller of a request.
func (c *Control) ReviewAccess(r *http.Request, spec authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	if c.policy == nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: NoPolicy}
	}
	identity := identityOf(r)
	binding, ok := c.policy.Get().Allows(identity.Name, identity.Groups, reviewed(spec))
	if !ok {
		return authorizationv1.SubjectAccessReviewStatus{}
	}
	return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "RBAC: allowed by " + binding}
}

// reviewed returns the attributes that a review asks about. A path below /v1/keys names keys.
func reviewed(spec authorizationv1.SelfSubjectAccessReviewSpec) authorization.Attributes {
	if a := spec.ResourceAttributes; a != nil {
		return authorization.Attributes{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name}
	}
	path, verb := spec.NonResourceAttributes.Path, spec.NonResourceAttributes.Verb
	if key, ok := strings.CutPrefix(path, "/v1/keys/"); ok {
		return authorization.Attributes{Verb: verb, Key: "/" + key}
	}
	return authorization.Attributes{Verb: verb, Path: path}
}

// ReviewRules answers a SelfSubjectRulesReview: the rules of the caller in a namespace, and outside of namespaces. Kubernetes has no form
// for rules about keys.
func (c *Control) ReviewRules(r *http.Request, namespace string) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	held := authorization.Anything
	if c.policy != nil {
		identity := identityOf(r)
		held = c.policy.Get().Rules(identity.Name, identity.Groups, namespace)
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
