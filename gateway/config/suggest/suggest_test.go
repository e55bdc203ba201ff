package suggest

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"listen", "data-dir", "etcd-endpoints"}
	for name, want := range map[string]string{"lisen": "listen", "datadir": "data-dir", "endpoints": "", "etcd-endpoint": "etcd-endpoints", "x": ""} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
