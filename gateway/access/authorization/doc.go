// Package authorization evaluates a policy: Roles, ClusterRoles and their bindings as in Kubernetes (RBAC), plus rules about keys and
// prefixes of etcd. It denies everything that no rule allows; no rule denies. It does not find users, and knows no HTTP.
package authorization
