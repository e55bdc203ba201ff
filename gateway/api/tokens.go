package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/gotype"
	"revtail/gateway/access/serviceaccount"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// The lifetimes of tokens, as in Kubernetes.
const (
	defaultLifetime = time.Hour
	minLifetime     = 10 * time.Minute
	maxLifetime     = 1 << 32 * time.Second
)

// serveToken answers a TokenRequest with a token of a service account.
func (h *Handler) serveToken(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	if h.Tokens == nil || !h.Tokens.CanSign() {
		return status.Error(http.StatusNotImplemented, "NotImplemented", "this gateway has no key to sign tokens of service accounts: "+
			"start it with --service-account-issuer and --service-account-signing-key-file")
	}
	answered := catalog.Target{Ref: resource.Ref{Resource: resource.TokenKind, Scope: t.Scope}}
	d, f, err := h.readVirtual(w, r, answered)
	if err == nil {
		err = h.Store.RequireNamespace(r.Context(), t.Ref)
	}
	if err != nil {
		return err
	}
	question := &authenticationv1.TokenRequest{}
	if err = gotype.Decode(d.Object, question); err != nil {
		return status.BadRequest("%v", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	grant, err := h.grant(ctx, t.Ref, question)
	if err != nil {
		return err
	}
	if asked := grant.End.Sub(grant.Begin); h.Tokens.MaxExpiration > 0 && asked > h.Tokens.MaxExpiration {
		limit := h.Tokens.MaxExpiration.Truncate(time.Second)
		response.Warn(w, fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", asked/time.Second, limit/time.Second))
		grant.End = grant.Begin.Add(limit)
		*question.Spec.ExpirationSeconds = int64(limit / time.Second)
	}
	question.Status.ExpirationTimestamp = metav1.NewTime(grant.End)
	if question.Status.Token, err = h.Tokens.Issue(grant); err != nil {
		return err
	}
	return h.respondVirtual(w, r, answered, f, question)
}

// grant checks and completes a question, and returns the token that it asks for.
func (h *Handler) grant(ctx context.Context, ref resource.Ref, q *authenticationv1.TokenRequest) (g serviceaccount.Grant, err error) {
	if err = checkTokenName(ref, q); err != nil {
		return g, err
	}
	account := &corev1.ServiceAccount{}
	if err = h.readCore(ctx, ref, account); err != nil {
		return g, err
	}
	if q.UID != "" && q.UID != account.UID {
		return g, apierrors.NewConflict(tokenResource, ref.Scope.Name, fmt.Errorf(
			"the UID in the token request (%s) does not match the UID of the service account (%s)", q.UID, account.UID))
	}
	now := time.Now()
	q.Name, q.Namespace, q.UID, q.CreationTimestamp = account.Name, account.Namespace, account.UID, metav1.NewTime(now)
	q.Status = authenticationv1.TokenRequestStatus{}
	if len(q.Spec.Audiences) == 0 {
		q.Spec.Audiences = h.Tokens.Audiences
	}
	if q.Spec.ExpirationSeconds == nil {
		q.Spec.ExpirationSeconds = new(int64(defaultLifetime / time.Second))
	}
	if err = checkTokenSpec(q.Spec); err != nil {
		return g, err
	}
	g = serviceaccount.Grant{
		Namespace: account.Namespace, ServiceAccount: referTo(account), Audiences: q.Spec.Audiences,
		Begin: now, End: now.Add(time.Duration(*q.Spec.ExpirationSeconds) * time.Second),
	}
	return g, h.bind(ctx, &g, q.Spec.BoundObjectRef)
}

// tokenResource is the name in conflicts of a TokenRequest, where kube-apiserver writes the kind.
var tokenResource = schema.GroupResource{Group: resource.TokenKind.Group, Resource: resource.TokenKind.Kind}

// checkTokenName refuses a question with another name than the URL has.
func checkTokenName(ref resource.Ref, q *authenticationv1.TokenRequest) error {
	var errs field.ErrorList
	if q.Name != "" && q.Name != ref.Scope.Name {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), q.Name, "must match the service account name if specified"))
	} else if q.Namespace != "" && q.Namespace != ref.Scope.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "namespace"), q.Namespace, "must match the service account namespace if specified"))
	}
	return invalidToken(ref.Scope.Name, errs)
}

func checkTokenSpec(spec authenticationv1.TokenRequestSpec) error {
	var errs field.ErrorList
	seconds, path := *spec.ExpirationSeconds, field.NewPath("spec")
	if seconds < int64(minLifetime/time.Second) {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > int64(maxLifetime/time.Second) {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if len(spec.Attestations) > 0 {
		errs = field.ErrorList{field.Invalid(path.Child("attestations"), spec.Attestations, "attestations may only be specified with a webhook bound object reference")}
	}
	return invalidToken("", errs)
}

func invalidToken(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(resource.Ref{Resource: resource.TokenKind}.GroupKind(), name, errs)
}

// bind binds a token to the Pod, the Secret or the Node that a question refers to, which must exist with the uid of the reference.
func (h *Handler) bind(ctx context.Context, g *serviceaccount.Grant, ref *authenticationv1.BoundObjectReference) error {
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	var found serviceaccount.Reference
	switch (schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}).String() {
	case "Pod":
		pod := &corev1.Pod{}
		if err := h.findCore(ctx, "pods", g.Namespace, ref.Name, pod); err != nil {
			return err
		}
		if pod.Spec.ServiceAccountName != g.ServiceAccount.Name {
			return status.BadRequest("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", g.ServiceAccount.Name)
		}
		if err := h.bindNode(ctx, g, pod.Spec.NodeName); err != nil {
			return err
		}
		found = referTo(pod)
		g.Pod = &found
	case "Secret":
		secret := &corev1.Secret{}
		if err := h.findCore(ctx, "secrets", g.Namespace, ref.Name, secret); err != nil {
			return err
		}
		found = referTo(secret)
		g.Secret = &found
	case "Node":
		node := &corev1.Node{}
		if err := h.findCore(ctx, "nodes", "", ref.Name, node); err != nil {
			return err
		}
		found = referTo(node)
		g.Node = &found
	default:
		return status.BadRequest("cannot bind token to object of type %s", gvk)
	}
	if ref.UID != "" && string(ref.UID) != found.UID {
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name, fmt.Errorf(
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

// bindNode adds the node of a Pod, if it has one, to a token. The token is not bound to it, and it need not exist.
func (h *Handler) bindNode(ctx context.Context, g *serviceaccount.Grant, name string) error {
	if name == "" {
		return nil
	}
	node := &corev1.Node{}
	if err := h.findCore(ctx, "nodes", "", name, node); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	g.Node = &serviceaccount.Reference{Name: name, UID: string(node.UID)}
	return nil
}

func referTo(object metav1.Object) serviceaccount.Reference {
	return serviceaccount.Reference{Name: object.GetName(), UID: string(object.GetUID())}
}

// findCore reads an object of the core group from etcd.
func (h *Handler) findCore(ctx context.Context, plural, namespace, name string, into metav1.Object) error {
	ref := resource.Ref{Resource: h.Catalog.Current().Registry.Lookup("", "v1", plural), Scope: resource.Scope{Namespace: namespace, Name: name}}
	return h.readCore(ctx, ref, into)
}

func (h *Handler) readCore(ctx context.Context, ref resource.Ref, into metav1.Object) error {
	document, _, err := h.Store.Find(ctx, ref.Resource.Plural, ref.Scope.Namespace, ref.Scope.Name, true)
	if document == nil {
		return cmp.Or(err, status.ObjectNotFound(ref))
	}
	if err = json.Unmarshal(document, into); err != nil {
		return fmt.Errorf("%s %s: %w", ref.Resource.Plural, ref.Scope.Path(), err)
	}
	return nil
}
