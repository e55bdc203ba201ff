// Package delegated asks a kube-apiserver who makes a request, by TokenReview, and whether that user may, by SubjectAccessReview.
//
// It uses the authenticator and the authorizer with which the aggregated servers of Kubernetes delegate, with their caches. While the
// kube-apiserver does not answer, decisions that it has made before stay in use for a while; see DESIGN.md.
package delegated
