package gatewaytest_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

const (
	pods       = "/api/v1/namespaces/default/pods"
	configMaps = "/api/v1/namespaces/default/configmaps"
	podJSON    = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"busybox"}]}}`
)

// TestWalk follows the introduction: watch pods, then create one, change it and delete it.
func TestWalk(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	watch := gw.Watch(t, "/api/v1/watch/pods?watch=yes")
	for name, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "no-cache, private", "Content-Length": ""} {
		if got := watch.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}

	created := gw.Create(t, pods, fmt.Sprintf(podJSON, "web"))
	changed := gw.Patch(t, pods+"/web", `{"metadata":{"labels":{"app":"web"}}}`)
	gw.Delete(t, pods+"/web")

	last := int64(0)
	for _, want := range []string{"ADDED", "MODIFIED", "DELETED"} {
		event := watch.Next(t)
		if prefix := `{"type":"` + want + `","object":{"kind":"Pod","apiVersion":"v1",`; !strings.HasPrefix(event.Line, prefix) {
			t.Errorf("frame %.80q, want one that begins with %s", event.Line, prefix)
		}
		revision := event.Object.Revision(t)
		if event.Object.Metadata.Name != "web" || revision <= last {
			t.Errorf("%s of %q with resourceVersion %d, want web with more than %d", want, event.Object.Metadata.Name, revision, last)
		}
		switch {
		case want == "ADDED" && revision != created.Revision(t), want == "MODIFIED" && revision != changed.Revision(t):
			t.Errorf("%s has resourceVersion %d, the answer to the write %d and %d", want, revision, created.Revision(t), changed.Revision(t))
		case want == "DELETED" && event.Object.Metadata.Labels["app"] != "web":
			t.Errorf("DELETED has labels %v, want those of the last state", event.Object.Metadata.Labels)
		}
		last = revision
	}
	if now := gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Revision(t); last != now {
		t.Errorf("DELETED has resourceVersion %d, want that of the delete in etcd, %d", last, now)
	}
}

// TestCorefile follows one object, as in the introduction with the CoreDNS configuration.
func TestCorefile(t *testing.T) {
	t.Parallel()
	const (
		collection = "/api/v1/namespaces/kube-system/configmaps"
		corefile   = `.:53 {\n    errors\n    health {\n        lameduck 5s\n    }\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n        pods insecure\n    }\n    forward . /etc/resolv.conf\n    cache %d\n    loop\n    reload\n}\n`
		object     = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"coredns"},"data":{"Corefile":"` + corefile + `"}}`
	)
	gw := gatewaytest.Start(t)
	gw.Create(t, collection, gatewaytest.ConfigMap("other", "not watched"))
	created := gw.Create(t, collection, fmt.Sprintf(object, 30))
	watch := gw.Watch(t, "/api/v1/watch/namespaces/kube-system/configmaps/coredns")
	added := watch.Next(t)
	if added.Type != "ADDED" || !cmp.Equal(added.Object, created) {
		t.Errorf("the first event is %s\n%s", added.Type, cmp.Diff(created, added.Object))
	}

	gw.Patch(t, collection+"/other", `{"data":{"value":"changed"}}`)
	gw.Patch(t, collection+"/coredns", fmt.Sprintf(`{"data":{"Corefile":"`+corefile+`"}}`, 31))
	modified := watch.Next(t)
	if modified.Type != "MODIFIED" || !strings.Contains(modified.Object.Data["Corefile"], "    cache 31\n") {
		t.Errorf("after the edit: %s", modified.Line)
	}
	if before, after := added.Object.Revision(t), modified.Object.Revision(t); after <= before {
		t.Errorf("MODIFIED has resourceVersion %d, ADDED had %d", after, before)
	}
}

// TestChunks checks that events of all sizes, and many at once, are one chunk each. Watch checks the framing.
func TestChunks(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	watch := gw.Watch(t, configMaps+"?watch=1")
	for _, size := range []int{1, 2 << 10, 4 << 10, 5 << 10, 64 << 10, 70 << 10, 300 << 10, 1 << 20} {
		gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("size-", size), strings.Repeat("x", size)))
		if event := watch.Next(t); len(event.Object.Data["value"]) != size {
			t.Errorf("the event of an object with %d bytes has %d", size, len(event.Object.Data["value"]))
		}
	}

	var puts []string
	for i := range 100 {
		name := fmt.Sprintf("many-%03d", i)
		puts = append(puts, "/registry/configmaps/default/"+name, gatewaytest.ConfigMap(name, strings.Repeat("y", 10*i)))
	}
	revision := gatewaytest.DialEtcd(t, gw.EtcdEndpoint).Put(t, puts...)
	for i := range 100 {
		event := watch.Next(t)
		if want := fmt.Sprintf("many-%03d", i); event.Object.Metadata.Name != want || event.Object.Revision(t) != revision {
			t.Fatalf("event %d is of %s at %s, want %s at %d", i, event.Object.Metadata.Name, event.Object.Metadata.ResourceVersion, want, revision)
		}
	}
}

// TestWire compares the bytes of a whole watch with HTTP/1.1.
func TestWire(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	for i := range 3 {
		gw.Create(t, configMaps, gatewaytest.ConfigMap(fmt.Sprint("m", i), strings.Repeat("z", 3000*i)))
	}
	list := gw.Do(t, "GET", configMaps, "").Body
	items := strings.Split(strings.TrimSuffix(list[strings.Index(list, `"items":[`)+len(`"items":[`):], "]}\n"), `,{"kind":"ConfigMap"`)
	want := ""
	for i, item := range items {
		if i > 0 {
			item = `{"kind":"ConfigMap"` + item
		}
		line := `{"type":"ADDED","object":` + item + "}\n"
		want += fmt.Sprintf("%x\r\n%s\r\n", len(line), line)
	}
	want += "0\r\n\r\n"

	began := time.Now()
	head, body, _ := strings.Cut(exchange(t, gw, "GET "+configMaps+"?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.Contains(head, "\r\nTransfer-Encoding: chunked") {
		t.Errorf("head %q", head)
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if lasted := time.Since(began); lasted < time.Second {
		t.Errorf("a watch of timeoutSeconds=1 ended after %v", lasted)
	}
}

// exchange sends bytes to a gateway and returns all bytes until it closes the connection.
func exchange(t *testing.T, gw *gatewaytest.Gateway, request string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(gw.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%.80q: %v", request, err)
	}
	return string(answer)
}
