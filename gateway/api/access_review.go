package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/gateway/resource"
)

// reviewAccess sets whether the caller may make a request. A request that checkOpen refuses is denied with that reason, whatever the policy allows.
func (h *Handler) reviewAccess(r *http.Request, question *authorizationv1.SelfSubjectAccessReview) error {
	spec := question.Spec
	errs := append(checkAttributes(spec.ResourceAttributes, spec.NonResourceAttributes), checkEmpty(question.ObjectMeta, "must be empty")...)
	if err := invalidReview("SelfSubjectAccessReview", errs); err != nil {
		return err
	}
	question.Status = h.Access.ReviewAccess(r, spec)
	if err := h.checkOpen(spec); err != nil && question.Status.Allowed {
		question.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: err.Error()}
	}
	return nil
}

// reviewSubject sets whether the policy allows a request of any user.
func (h *Handler) reviewSubject(_ *http.Request, question *authorizationv1.SubjectAccessReview) error {
	errs := append(checkSubject(question.Spec), checkEmpty(question.ObjectMeta, "must be empty")...)
	if err := invalidReview("SubjectAccessReview", errs); err != nil {
		return err
	}
	question.Status = h.Access.ReviewSubject(question.Spec)
	return nil
}

// reviewLocalSubject is reviewSubject for requests in one namespace, to which its callers may be restricted.
func (h *Handler) reviewLocalSubject(_ *http.Request, question *authorizationv1.LocalSubjectAccessReview) error {
	spec, meta := question.Spec, question.ObjectMeta
	meta.Namespace = ""
	errs := append(checkSubject(spec), checkEmpty(meta, "must be empty except for namespace")...)
	if a := spec.ResourceAttributes; a != nil && a.Namespace != question.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec", "resourceAttributes", "namespace"), a.Namespace, "must match metadata.namespace"))
	}
	if a := spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "nonResourceAttributes"), a, "disallowed on this kind of request"))
	}
	if err := invalidReview("LocalSubjectAccessReview", errs); err != nil {
		return err
	}
	question.Status = h.Access.ReviewSubject(spec)
	return nil
}

// invalidReview returns a Status, 422, with the errors of a question; nil: there are none.
func invalidReview(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(authorizationv1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}

func checkSubject(spec authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := checkAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return errs
}

// checkAttributes returns the errors of the request that a question is about.
func checkAttributes(a *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	if (a == nil) == (other == nil) {
		errs = append(errs, field.Invalid(spec, other, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	if a == nil {
		return errs
	}
	if s, path := a.FieldSelector, spec.Child("resourceAttributes", "fieldSelector"); s != nil {
		errs = append(errs, checkSelector(path, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metavalidation.ValidateFieldSelectorRequirement(requirement,
				metavalidation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	if s, path := a.LabelSelector, spec.Child("resourceAttributes", "labelSelector"); s != nil {
		errs = append(errs, checkSelector(path, s.RawSelector, len(s.Requirements))...)
		for i, requirement := range s.Requirements {
			errs = append(errs, metavalidation.ValidateLabelSelectorRequirement(requirement,
				metavalidation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Child("requirements").Index(i))...)
		}
	}
	return errs
}

// checkSelector returns the error of a selector that has both of its forms, or none.
func checkSelector(path *field.Path, raw string, requirements int) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")} // Kubernetes' words
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), "when "+path.String()+" is specified, requirements or rawSelector is required")}
	}
	return nil
}

// checkEmpty returns the error of a question with metadata, which would be ignored.
func checkEmpty(meta metav1.ObjectMeta, message string) field.ErrorList {
	meta.ManagedFields = nil
	if reflect.ValueOf(meta).IsZero() {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, message)}
}

// checkOpen returns an error for a request that the gateway refuses to every user: a write of data that is read-only, or of keys that the flags do not open.
func (h *Handler) checkOpen(spec authorizationv1.SelfSubjectAccessReviewSpec) error {
	if a := spec.NonResourceAttributes; a != nil {
		if key, ok := strings.CutPrefix(a.Path, "/v1/keys/"); ok {
			return h.OpenKey(a.Verb, "/"+key)
		}
		return nil
	}
	// A Binding, the only virtual object of the core group, is a write.
	isVirtual := slices.ContainsFunc(resource.Virtual(), func(v *resource.Resource) bool { return v.Group != "" && v.Group == spec.ResourceAttributes.Group })
	if isVirtual || !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, spec.ResourceAttributes.Verb) {
		return nil
	}
	return h.Claim.CheckMethod(http.MethodPut)
}
