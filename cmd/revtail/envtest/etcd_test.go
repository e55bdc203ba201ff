package envtest

import (
	"slices"
	"testing"
)

func TestEtcdArgs(t *testing.T) {
	fast := []string{"--heartbeat-interval=10", "--election-timeout=100"}
	for _, tt := range []struct {
		args, added []string
	}{
		{[]string{"etcd", "--data-dir=d", "--unsafe-no-fsync=true"}, fast},
		{[]string{"etcd", "-unsafe-no-fsync", "--listen-peer-urls=http://localhost:0"}, fast},
		{[]string{"etcd", "--data-dir=d"}, nil},
		{[]string{"etcd", "--unsafe-no-fsync=false"}, nil},
		{[]string{"etcd", "--unsafe-no-fsync", "--election-timeout", "5000"}, nil},
		{[]string{"etcd", "--unsafe-no-fsync", "--initial-cluster-state=existing"}, nil},
		{[]string{"etcd", "--unsafe-no-fsync", "--config-file=f"}, nil},
	} {
		if got, want := EtcdArgs(tt.args), slices.Concat(tt.args, tt.added); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", tt.args, got, want)
		}
	}
}
