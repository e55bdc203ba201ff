package kinds

import (
	"context"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
)

// extensions is the category of kinds that extend the API.
const extensions = "api-extensions"

// The strategies of admission policies and of their bindings. They refuse one whose parameters its author may not read.
var (
	mutatingPolicy         = mutatingadmissionpolicy.NewStrategy(author{}, resolver.ResourceResolverFunc(unresolved))
	mutatingBinding        = mutatingadmissionpolicybinding.NewStrategy(author{}, author{}, resolver.ResourceResolverFunc(unresolved))
	validatingPolicy       = validatingadmissionpolicy.NewStrategy(author{}, resolver.ResourceResolverFunc(unresolved))
	validatingPolicyStatus = validatingadmissionpolicy.NewStatusStrategy(validatingPolicy)
	validatingBinding      = validatingadmissionpolicybinding.NewStrategy(author{}, author{}, resolver.ResourceResolverFunc(unresolved))
)

// Author is what strategies ask about the author of an object, who is the user in the context, and about other objects.
type Author interface {
	authorizer.UnconditionalAuthorizer
	// Resolve returns the plural of a kind; empty: it is not served.
	Resolve(schema.GroupVersionKind) string
	// Policy reads the JSON of a policy into one.
	Policy(ctx context.Context, plural, name string, into any) error
	// Namespace returns a Namespace; one that does not exist has the labels that a new one has.
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
}

type authorKey struct{}

// WithAuthor returns a context for Strategy.Create and Update. Without one every author may read all parameters, and no claim has access to
// devices in use.
func WithAuthor(ctx context.Context, a Author) context.Context {
	return context.WithValue(ctx, authorKey{}, a)
}

// kindPrefix marks a kind that is not resolved yet: resolvers have no context.
const kindPrefix = "kind "

func unresolved(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return kind.GroupVersion().WithResource(kindPrefix + kind.Kind), nil
}

// author answers the questions of strategies by the Author in the context.
type author struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (author) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	by, ok := ctx.Value(authorKey{}).(Author)
	if !ok {
		return authorizer.DecisionAllow, "", nil
	}
	if kind, unresolved := strings.CutPrefix(attributes.GetResource(), kindPrefix); unresolved {
		resource := by.Resolve(schema.GroupVersionKind{Group: attributes.GetAPIGroup(), Version: attributes.GetAPIVersion(), Kind: kind})
		if resource == "" {
			resource = "*"
		}
		attributes = resolved{attributes, resource}
	}
	return by.Authorize(ctx, attributes)
}

// resolved are attributes with another resource.
type resolved struct {
	authorizer.Attributes
	resource string
}

func (r resolved) GetResource() string { return r.resource }

// GetValidatingAdmissionPolicy returns the policy of a binding.
func (author) GetValidatingAdmissionPolicy(ctx context.Context, name string) (*admissionregistration.ValidatingAdmissionPolicy, error) {
	out := &admissionregistration.ValidatingAdmissionPolicy{}
	return out, readPolicy(ctx, "validatingadmissionpolicies", name, &admissionregistrationv1.ValidatingAdmissionPolicy{}, out)
}

// GetMutatingAdmissionPolicy returns the policy of a binding.
func (author) GetMutatingAdmissionPolicy(ctx context.Context, name string) (*admissionregistration.MutatingAdmissionPolicy, error) {
	out := &admissionregistration.MutatingAdmissionPolicy{}
	return out, readPolicy(ctx, "mutatingadmissionpolicies", name, &admissionregistrationv1.MutatingAdmissionPolicy{}, out)
}

func readPolicy(ctx context.Context, plural, name string, stored, internal runtime.Object) error {
	by, ok := ctx.Value(authorKey{}).(Author)
	if !ok {
		return nil // every author may read everything
	}
	if err := by.Policy(ctx, plural, name, stored); err != nil {
		return err
	}
	return legacyscheme.Scheme.Convert(stored, internal, nil)
}
