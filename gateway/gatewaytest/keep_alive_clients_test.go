package gatewaytest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"revtail/gateway/gatewaytest"
)

// watchesAndLists are requests that one connection serves.
var watchesAndLists = []string{shortWatch, shortList, shortWatch, shortWatch, shortList}

// countConnections returns a way to a gateway that counts the connections to it.
func countConnections(t *testing.T, gw *gatewaytest.Gateway) (*gatewaytest.Gateway, *atomic.Int64) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			running.Go(func() { forward(t.Context(), conn, strings.TrimPrefix(gw.URL, "http://")) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return &gatewaytest.Gateway{URL: "http://" + listener.Addr().String()}, &count
}

// forward connects a connection with an address until one side closes its connection, or the context ends.
func forward(ctx context.Context, conn net.Conn, address string) {
	defer func() { _ = conn.Close() }()
	upstream, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	closeBoth := func() { _, _ = conn.Close(), upstream.Close() }
	defer context.AfterFunc(ctx, closeBoth)()
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = io.Copy(upstream, conn)
		closeBoth()
	})
	_, _ = io.Copy(conn, upstream)
	closeBoth()
	running.Wait()
}

// TestClientsAfterWatch checks that curl, Python's requests, nginx and client-go serve later requests on the connection of a watch.
func TestClientsAfterWatch(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("a", ""))
	for name, run := range map[string]func(*testing.T, *gatewaytest.Gateway) string{
		"curl": withCurl, "Python": withPython, "nginx": withNginx, "client-go": withClientGo,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const attempts = 3 // net/http gives up a connection whose request counts as not yet written 50 ms after its response
			for attempt := 1; ; attempt++ {
				counted, connections := countConnections(t, gw)
				text := run(t, counted)
				if watches, lists := strings.Count(text, "ADDED"), strings.Count(text, "ConfigMapList"); watches != 3 || lists != 2 {
					t.Fatalf("%d watches and %d lists, want 3 and 2: %s", watches, lists, text)
				}
				n := connections.Load()
				if n == 1 {
					return
				}
				if attempt == attempts {
					t.Fatalf("%d connections, want 1", n)
				}
			}
		})
	}
}

func withCurl(t *testing.T, gw *gatewaytest.Gateway) string {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed (Debian: curl)")
	}
	return commandOutput(t, curl, append([]string{"--silent", "--show-error"}, urlsOf(gw)...)...)
}

func withPython(t *testing.T, gw *gatewaytest.Gateway) string {
	t.Helper()
	const python = "/usr/bin/python3" // which finds Debian's packages
	if output, err := exec.CommandContext(t.Context(), python, "-c", "import requests").CombinedOutput(); err != nil {
		t.Skipf("%s cannot import requests, which is in Debian's python3-requests: %v\n%s", python, err, output)
	}
	return commandOutput(t, python, append([]string{"-c", `
import sys, requests
session = requests.Session()
for url in sys.argv[1:]:
    for line in session.get(url, stream=True).iter_lines():
        print(line.decode())
`}, urlsOf(gw)...)...)
}

func withNginx(t *testing.T, gw *gatewaytest.Gateway) string {
	t.Helper()
	front := gatewaytest.StartProxy(t, "nginx.conf", gw, gw)
	var text strings.Builder
	for _, path := range watchesAndLists {
		text.WriteString(front.Do(t, http.MethodGet, path, "").Body)
	}
	return text.String()
}

func withClientGo(t *testing.T, gw *gatewaytest.Gateway) string {
	t.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: gw.URL})
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(metav1.NamespaceDefault)
	var text strings.Builder
	one := int64(1)
	for _, path := range watchesAndLists {
		if path == shortList {
			list, err := objects.List(t.Context(), metav1.ListOptions{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(list.GetKind())
			continue
		}
		w, err := objects.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &one})
		if err != nil {
			t.Fatal(err)
		}
		for event := range w.ResultChan() {
			text.WriteString(string(event.Type))
		}
	}
	return text.String()
}

func urlsOf(gw *gatewaytest.Gateway) (out []string) {
	for _, path := range watchesAndLists {
		out = append(out, gw.URL+path)
	}
	return out
}

func commandOutput(t *testing.T, name string, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, output)
	}
	return string(output)
}
