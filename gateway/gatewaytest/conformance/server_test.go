package conformance

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"revtail/etcdstore/embedded"
	"revtail/gateway/gatewaytest"
)

// server is the server under test.
type server struct {
	name string // for the table
	base string // URL, without a slash at the end
	etcd string // URL of the etcd behind it; empty: not known
}

// findServer returns the server of -base or, without it, starts a revtail with an embedded etcd.
func findServer(t *testing.T) *server {
	t.Helper()
	if *baseFlag != "" {
		t.Cleanup(transport.CloseIdleConnections)
		base := strings.TrimSuffix(*baseFlag, "/")
		return &server{base, base, *etcdFlag}
	}
	g := gatewaytest.Start(t)
	bringHistory(t, g)
	return &server{"revtail with an embedded etcd", g.URL, g.EtcdEndpoint}
}

// startWithExternalEtcd runs the etcd in this process: for the gateway it is an external one.
func startWithExternalEtcd(t *testing.T) *server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	etcd, err := embedded.Start(ctx, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := etcd.Close(); err != nil {
			t.Errorf("close etcd: %v", err)
		}
	})
	g := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints()[0])
	bringHistory(t, g)
	return &server{"revtail with an external etcd", g.URL, etcd.Endpoints()[0]}
}

// bringHistory restarts a gateway after a write, so that a revision is not in its memory.
func bringHistory(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	g.Create(t, "/api/v1/namespaces/default/configmaps", gatewaytest.ConfigMap("history", "old"))
	g.Stop(t)
	g.Restart(t)
}

// compact makes etcd forget every revision older than the newest.
func (c *check) compact() {
	c.t.Helper()
	if c.server.etcd == "" {
		c.NotRun("no etcd endpoint (-etcd)")
	}
	etcd := gatewaytest.DialEtcd(c.t, c.server.etcd)
	etcd.Compact(c.t, etcd.Revision(c.t))
}

// declareWidgets creates the CustomResourceDefinition of the fixture and waits until it is served. It returns the reason if that is
// impossible, or an empty string.
func declareWidgets(t *testing.T, s *server) string {
	t.Helper()
	definition, err := os.ReadFile("testdata/widgets.json")
	if err != nil {
		t.Fatal(err)
	}
	c := newCheck(t, s, custom)
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	a := c.do(http.MethodPost, path, string(definition), "Content-Type", "application/json")
	switch a.code {
	case http.StatusCreated:
		t.Cleanup(func() { c.detached().quietly(http.MethodDelete, path+"/widgets.example.com", "") })
	case http.StatusConflict:
	case http.StatusNotFound:
		return "the server has no CustomResourceDefinitions"
	default:
		return fmt.Sprintf("the CustomResourceDefinition is refused: %d %.200s", a.code, a.body)
	}
	c.eventually("widgets are served", func() bool { return c.get(c.cast.simple.collection("")).code == http.StatusOK })
	return ""
}
