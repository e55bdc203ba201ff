// Package authorization decides who may do what, by roles and bindings of the shape that they have in Kubernetes (RBAC), with one
// step beyond: a rule may name prefixes of etcd keys. What no rule allows is denied; no rule denies.
package authorization
