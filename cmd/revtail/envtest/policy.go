package envtest

import (
	"os"
	"path/filepath"
)

// policy allows everything to everyone who is authenticated. Without a policy no review could say so of another user.
const policy = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}
`

// policyIn writes the policy into the directory of the certificate, and returns its path.
func policyIn(dir string) (string, error) {
	file := filepath.Join(dir, "revtail.policy.yaml")
	return file, os.WriteFile(file, []byte(policy), 0o600)
}
