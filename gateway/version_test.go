package gateway

import (
	"testing"

	"k8s.io/apimachinery/pkg/version"
)

func TestVersion(t *testing.T) {
	s := describedServer(t, "0.3.1")
	var got version.Info
	w := askFor(t, s, "/version", &got)
	if got.Major != "1" || got.Minor != "37" || got.GitVersion != "v1.37.0+revtail.0.3.1" {
		t.Errorf("%+v", got)
	}
	if w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type: %s", w.Header().Get("Content-Type"))
	}
}
