package authorization

// builtin has the default roles and bindings of Kubernetes: discovery, reviews of one's own rights, and the role of servers that ask for the rights
// of others, to which no user is bound. An object of the same kind and
// name in a policy file replaces one of them.
const builtin = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cluster-admin}
rules:
- {verbs: ["*"], apiGroups: ["*"], resources: ["*"]}
- {verbs: ["*"], nonResourceURLs: ["*"]}
- {verbs: ["*"], keys: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:basic-user"}
rules:
- verbs: [create]
  apiGroups: [authorization.k8s.io]
  resources: [selfsubjectaccessreviews, selfsubjectrulesreviews]
- verbs: [create]
  apiGroups: [authentication.k8s.io]
  resources: [selfsubjectreviews]
- {verbs: [post], nonResourceURLs: [/v1/tickets, /v1/txn]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:discovery"}
rules:
- {verbs: [get], nonResourceURLs: [/, /api, /api/*, /apis, /apis/*, /openapi, /openapi/*, /v1/openapi.json]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:public-info-viewer"}
rules:
- {verbs: [get], nonResourceURLs: [/healthz, /livez, /readyz, /version]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:auth-delegator"}
rules:
- {verbs: [create], apiGroups: [authentication.k8s.io], resources: [tokenreviews]}
- {verbs: [create], apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:service-account-issuer-discovery"}
rules:
- {verbs: [get], nonResourceURLs: [/.well-known/openid-configuration, /openid/v1/jwks]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:service-account-issuer-discovery"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:service-account-issuer-discovery"}
subjects:
- {kind: Group, name: "system:serviceaccounts"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:basic-user"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:basic-user"}
subjects:
- {kind: Group, name: "system:authenticated"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:discovery"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:discovery"}
subjects:
- {kind: Group, name: "system:authenticated"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:public-info-viewer"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:public-info-viewer"}
subjects:
- {kind: Group, name: "system:authenticated"}
- {kind: Group, name: "system:unauthenticated"}
`
