// Package serviceaccount issues and verifies the tokens of service accounts, as Kubernetes does: JSON Web Tokens that name a service account by its
// uid, and may be bound to a Pod, a Secret or a Node. A token is valid until it expires, a key is withdrawn, or one of these objects is deleted.
package serviceaccount
