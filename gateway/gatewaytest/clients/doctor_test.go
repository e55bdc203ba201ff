package clients

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestDoctorWithoutQuorum checks that `revtail doctor` names the members to start when one of three answers.
func TestDoctorWithoutQuorum(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 3)
	for _, m := range cluster.Members[1:] {
		m.Kill(t)
	}
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "doctor", "--etcd-endpoints", cluster.Endpoints(), "--server", "http://127.0.0.1:1")
	cmd.Env = []string{} // without a REVTAIL_… of the tests' own environment
	said, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); !errors.As(err, &ended) || ended.ExitCode() != 1 {
		t.Errorf("doctor ends with %v, want code 1", err)
	}
	for _, text := range []string{
		"there is no quorum: " + cluster.Members[0].Endpoint + " answers without a leader",
		"start " + cluster.Members[1].Endpoint + ", " + cluster.Members[2].Endpoint,
	} {
		if !strings.Contains(string(said), text) {
			t.Errorf("doctor does not say %q:\n%s", text, said)
		}
	}
}
