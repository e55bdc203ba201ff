//go:build unix

package gatewaytest_test

import (
	"net"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestDescriptorsUsedUp opens more connections than the process may have descriptors. Those above the limit are reset, a watch and writes of
// others go on, the embedded etcd opens new files, and new connections are served when the others are closed.
func TestDescriptorsUsedUp(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.StartIn(t, []string{"sh", "-c", `ulimit -n 256 && exec "$@"`, "sh"})
	watch := gw.Watch(t, configMaps+"?watch=1")
	writer := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	writer.Put(t, "/registry/configmaps/default/a", gatewaytest.ConfigMap("a", "1"))
	watch.Next(t)

	address := strings.TrimPrefix(gw.URL, "http://")
	var held []net.Conn
	for range 500 {
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
			held = append(held, conn)
		}
	}
	if converse(t, address) != nil {
		t.Error("a connection is answered although all descriptors but the reserve are used")
	}
	value := strings.Repeat("x", 1<<20)
	for range 70 { // more than a segment of etcd's log
		writer.Put(t, "/app/a", value)
	}
	writer.Put(t, "/registry/configmaps/default/a", gatewaytest.ConfigMap("a", "2"))
	if event := watch.Next(t); event.Type != "MODIFIED" {
		t.Errorf("the watch goes on with %s", event.Line)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	gatewaytest.Until(t, "an answer on a new connection", func() bool { return converse(t, address) != nil })
	if refused := gw.Do(t, "GET", "/metrics", "").Metric("revtail_connections_refused_total"); refused == "0" || refused == "" {
		t.Errorf("revtail_connections_refused_total is %q", refused)
	}
}
