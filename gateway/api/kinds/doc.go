// Package kinds has the built-in kinds whose defaults, validation and columns are those of Kubernetes' own packages: no other package
// imports k8s.io/kubernetes.
package kinds
