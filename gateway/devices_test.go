package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAdminAccess checks that a claim has access to devices in use only in a namespace whose label permits it, as in a cluster.
func TestAdminAccess(t *testing.T) {
	s := newTestServer(t)
	s.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"admin","labels":{"resource.kubernetes.io/admin-access":"true"}}}`)
	s.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"plain"}}`)
	const spec = `{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","adminAccess":true}}]}}`
	for plural, object := range map[string]string{
		"resourceclaims":         `{"metadata":{"name":"x"},"spec":` + spec + `}`,
		"resourceclaimtemplates": `{"metadata":{"name":"x"},"spec":{"spec":` + spec + `}}`,
	} {
		for namespace, want := range map[string]int{"admin": http.StatusCreated, "plain": http.StatusUnprocessableEntity, "none": http.StatusUnprocessableEntity} {
			t.Run(plural+" in "+namespace, func(t *testing.T) {
				a := s.do(http.MethodPost, fmt.Sprintf("/apis/resource.k8s.io/v1/namespaces/%s/%s", namespace, plural), object)
				if a.code != want {
					t.Errorf("%d %s", a.code, a.body)
				}
				if refused := strings.Contains(a.body, "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label"); refused != (want != http.StatusCreated) {
					t.Errorf("the answer is %s", a.body)
				}
			})
		}
	}
}
