package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestOutageLog checks that the log has one line for the loss of a member of etcd, the leader or another one, and one for its return.
func TestOutageLog(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 3)
	g := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints())
	for i, m := range cluster.Members {
		m.Kill(t)
		loss := fmt.Sprintf("etcd: 1 of 3 endpoints does not answer: %s (connection refused); served by ", m.Endpoint)
		gatewaytest.Until(t, loss, func() bool { return strings.Contains(g.Log(t), loss) })
		m.Restart(t)
		gatewaytest.Until(t, "the return of a member in the log", func() bool {
			return strings.Count(g.Log(t), "etcd: all endpoints answer again") == i+1
		})
	}
	var warnings []string
	for line := range strings.Lines(g.Log(t)) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("the log has a line that is no JSON: %q", line)
		}
		if entry.Level == "WARN" || entry.Level == "ERROR" {
			warnings = append(warnings, entry.Msg)
		}
	}
	if len(warnings) != len(cluster.Members) {
		t.Errorf("the log has %d warnings for %d losses:\n%s", len(warnings), len(cluster.Members), strings.Join(warnings, "\n"))
	}
}
