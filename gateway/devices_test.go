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

// TestAdminAccessInStatus checks the same for the devices that a claim has been given.
func TestAdminAccessInStatus(t *testing.T) {
	s := newTestServer(t)
	const result = `{"request":"r","driver":"driver.example.com","pool":"p","device":"d","adminAccess":true}`
	for label, want := range map[string]int{"true": http.StatusOK, "false": http.StatusUnprocessableEntity} {
		namespace := "label-" + label
		s.must(http.StatusCreated, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"`+namespace+`","labels":{"resource.kubernetes.io/admin-access":"`+label+`"}}}`)
		path := "/apis/resource.k8s.io/v1/namespaces/" + namespace + "/resourceclaims"
		s.must(http.StatusCreated, http.MethodPost, path, `{"metadata":{"name":"x"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}}`)
		a := s.do(http.MethodPatch, path+"/x/status", `{"status":{"allocation":{"devices":{"results":[`+result+`]}}}}`, "Content-Type", "application/merge-patch+json")
		if refused := strings.Contains(a.body, "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label"); a.code != want || refused != (want != http.StatusOK) {
			t.Errorf("%s: %d %s", namespace, a.code, a.body)
		}
	}
}
