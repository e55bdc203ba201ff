package access

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
)

// NoPolicy is the reason of a review without a policy.
const NoPolicy = "revtail runs without --policy-file: every authenticated request is allowed"

// ContextOf returns the context of a request, from which the strategies of Kubernetes read its user.
func ContextOf(r *http.Request) context.Context {
	identity := identityOf(r)
	return genericrequest.WithUser(r.Context(), &user.DefaultInfo{Name: identity.Name, UID: identity.UID, Groups: identity.Groups, Extra: identity.Extra})
}

// UserOf returns the user of a request in the form of Kubernetes.
func UserOf(r *http.Request) authenticationv1.UserInfo { return userInfo(identityOf(r)) }

func userInfo(identity *authentication.Identity) authenticationv1.UserInfo {
	user := authenticationv1.UserInfo{Username: identity.Name, UID: identity.UID, Groups: identity.Groups}
	for key, values := range identity.Extra {
		if user.Extra == nil {
			user.Extra = make(map[string]authenticationv1.ExtraValue)
		}
		user.Extra[key] = values
	}
	return user
}

// noOpinion is the evaluation error of a review of another user without a policy. It allows nothing, because other servers may ask for their own
// requests, and "everybody may do everything" would open them.
const noOpinion = "revtail runs without --policy-file, and has no opinion about the rights of users"

// delegated is the evaluation error of a review if another server decides. It is not reached while reviews are sent to that server.
const delegated = "another server decides about the rights of users"

// ReviewAccess answers a SelfSubjectAccessReview of the caller of a request.
func (c *Control) ReviewAccess(r *http.Request, spec authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	if c.delegate != nil {
		return authorizationv1.SubjectAccessReviewStatus{EvaluationError: delegated}
	}
	if c.policy == nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: NoPolicy}
	}
	identity := identityOf(r)
	return c.review(identity.Name, identity.Groups, spec.ResourceAttributes, spec.NonResourceAttributes)
}

// ReviewSubject answers the question whether the policy allows a request of a user and groups, which need not be known here. It denies nothing:
// what the policy does not allow, another authorizer of the server that asks may allow.
func (c *Control) ReviewSubject(spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	if c.delegate != nil {
		return authorizationv1.SubjectAccessReviewStatus{EvaluationError: delegated}
	}
	if c.policy == nil {
		return authorizationv1.SubjectAccessReviewStatus{EvaluationError: noOpinion}
	}
	return c.review(spec.User, spec.Groups, spec.ResourceAttributes, spec.NonResourceAttributes)
}

func (c *Control) review(user string, groups []string, a *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	status := authorizationv1.SubjectAccessReviewStatus{EvaluationError: evaluationError(a)}
	if binding, ok := c.policy.Get().Allows(user, groups, reviewed(a, other)); ok {
		status.Allowed, status.Reason = true, "RBAC: allowed by "+binding
	}
	return status
}

// Authorizer returns the policy in the form of Kubernetes, for expressions about the rights of users.
func (c *Control) Authorizer() authorizer.UnconditionalAuthorizer { return policyAuthorizer{c} }

type policyAuthorizer struct{ control *Control }

// Authorize implements authorizer.UnconditionalAuthorizer. Without a policy every user may do everything, as ReviewAccess says.
func (a policyAuthorizer) Authorize(_ context.Context, about authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.control.delegate != nil {
		return authorizer.DecisionNoOpinion, delegated, nil
	}
	if a.control.policy == nil {
		return authorizer.DecisionAllow, NoPolicy, nil
	}
	var resource *authorizationv1.ResourceAttributes
	var other *authorizationv1.NonResourceAttributes
	if about.IsResourceRequest() {
		resource = &authorizationv1.ResourceAttributes{Verb: about.GetVerb(), Group: about.GetAPIGroup(), Resource: about.GetResource(),
			Subresource: about.GetSubresource(), Namespace: about.GetNamespace(), Name: about.GetName()}
	} else {
		other = &authorizationv1.NonResourceAttributes{Verb: about.GetVerb(), Path: about.GetPath()}
	}
	status := a.control.review(about.GetUser().GetName(), about.GetUser().GetGroups(), resource, other)
	if status.Allowed {
		return authorizer.DecisionAllow, status.Reason, nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// reviewed returns the attributes that a review asks about. A path below /v1/keys names keys. A review without a resource is about all of them,
// as in Kubernetes: only a rule for "*" allows it.
func reviewed(a *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes) authorization.Attributes {
	if a != nil {
		return authorization.Attributes{
			Verb: a.Verb, Group: a.Group, Resource: cmp.Or(a.Resource, "*"), Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name}
	}
	if key, ok := strings.CutPrefix(other.Path, "/v1/keys/"); ok {
		return authorization.Attributes{Verb: other.Verb, Key: "/" + key}
	}
	return authorization.Attributes{Verb: other.Verb, Path: other.Path}
}

// evaluationError names the selectors of a request that cannot be parsed; empty: none. The policy has no rules about selectors.
func evaluationError(a *authorizationv1.ResourceAttributes) string {
	var errs []string
	if a != nil && a.FieldSelector != nil {
		if _, err := fields.ParseSelector(a.FieldSelector.RawSelector); err != nil {
			errs = append(errs, "spec.resourceAttributes.fieldSelector ignored due to parse error")
		}
	}
	if a != nil && a.LabelSelector != nil {
		if _, err := labels.Parse(a.LabelSelector.RawSelector); err != nil {
			errs = append(errs, "spec.resourceAttributes.labelSelector ignored due to parse error")
		}
	}
	return strings.Join(errs, "; ")
}

// ReviewRules answers a SelfSubjectRulesReview: the rules of the caller in a namespace, and outside of namespaces. Kubernetes has no form
// for rules about keys.
func (c *Control) ReviewRules(r *http.Request, namespace string) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	held := authorization.Anything
	if c.delegate != nil {
		held, status.Incomplete, status.EvaluationError = nil, true, delegated
	}
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

// ReviewToken answers a TokenReview. The token may be one for other servers, if it has one of the audiences that the review asks for.
func (c *Control) ReviewToken(ctx context.Context, spec authenticationv1.TokenReviewSpec) (status authenticationv1.TokenReviewStatus) {
	identity, audiences, err := c.Authenticator.AuthenticateToken(ctx, spec.Token, spec.Audiences)
	if err != nil {
		status.Error = "invalid bearer token"
		if reason, ok := errors.AsType[*authentication.TokenError](err); ok {
			status.Error = "[" + status.Error + ", " + reason.Error() + "]" // as kube-apiserver joins the errors of its verifiers
		}
		return status
	}
	return authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(identity), Audiences: audiences}
}
