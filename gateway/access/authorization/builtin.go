package authorization

// builtin is what holds without being in a file, as in Kubernetes: clients can find out what there is, and what they may do with
// it. A file takes away from it, or gives more, by objects of the same kind and name.
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
