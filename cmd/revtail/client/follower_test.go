package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/cmd/revtail/client"
	"revtail/gateway/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

const configMaps = "/api/v1/namespaces/default/configmaps"

// follow follows the ConfigMaps through the gateways until the test ends. It returns a line for each event, and the notices.
func follow(t *testing.T, query client.Query, gateways ...*gatewaytest.Gateway) (lines, notices <-chan string) {
	t.Helper()
	config := client.Config{}
	for _, gw := range gateways {
		config.Servers = append(config.Servers, gw.URL)
	}
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := c.Resources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if query.Resource, err = client.Find(resources, "cm"); err != nil {
		t.Fatal(err)
	}
	events, noticed, begun, ended := make(chan string, 100), make(chan string, 100), make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	f := &client.Follower{
		Client: c, Query: query, OnNotice: func(text string) { noticed <- text },
		OnList: func(list client.List) error {
			close(begun)
			return nil
		},
		OnEvent: func(e client.Event) error {
			line := e.Type + " " + e.Object.Name
			if e.Old != nil {
				line += fmt.Sprintf(" after %d", e.Old.Revision)
			}
			if e.Inferred {
				line += " inferred"
			}
			events <- line
			return nil
		},
	}
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		c.Close()
	})
	select {
	case <-begun:
	case err := <-ended:
		ended <- nil
		t.Fatalf("Run: %v", err)
	}
	return events, noticed
}

func want(t *testing.T, events <-chan string, lines ...string) {
	t.Helper()
	var got []string
	for range lines {
		got = append(got, <-events)
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func create(t *testing.T, gw *gatewaytest.Gateway, name string) int64 {
	t.Helper()
	return gw.Create(t, configMaps, gatewaytest.ConfigMap(name, "1")).Revision(t)
}

// TestFollowOnAnotherGateway checks that each change is delivered once, also when a gateway dies and when one revision has several changes.
func TestFollowOnAnotherGateway(t *testing.T) {
	t.Parallel()
	first := gatewaytest.Start(t)
	second := gatewaytest.Start(t, "--etcd-endpoints", first.EtcdEndpoint)
	etcd := gatewaytest.DialEtcd(t, first.EtcdEndpoint)
	a := create(t, first, "a")
	events, notices := follow(t, client.Query{}, second, first)

	both := etcd.Put(t, "/registry/configmaps/default/x", `{"v":1}`, "/registry/configmaps/default/y", `{"v":1}`)
	want(t, events, "ADDED x", "ADDED y")
	second.Kill(t)
	var last int64 // later than both, if a bookmark came meanwhile
	notice := <-notices
	if _, err := fmt.Sscanf(notice, "the connection is lost after revision %d,", &last); err != nil || last < both {
		t.Errorf("notice %q: %v, want at least revision %d", notice, err, both)
	}
	first.Patch(t, configMaps+"/a", `{"data":{"value":"2"}}`)
	first.Delete(t, configMaps+"/x")
	want(t, events, fmt.Sprintf("MODIFIED a after %d", a), fmt.Sprintf("DELETED x after %d", both))
	if notice = <-notices; !strings.Contains(notice, "connected again") {
		t.Errorf("notice %q", notice)
	}
}

// TestFollowOverLostHistory checks that changes which etcd compacted during a lost connection are found by comparing lists.
func TestFollowOverLostHistory(t *testing.T) {
	t.Parallel()
	first := gatewaytest.Start(t)
	second := gatewaytest.Start(t, "--etcd-endpoints", first.EtcdEndpoint)
	etcd := gatewaytest.DialEtcd(t, first.EtcdEndpoint)
	create(t, first, "same")
	changed := create(t, first, "changed")
	gone := create(t, first, "gone")
	events, notices := follow(t, client.Query{}, second)

	second.Kill(t)
	<-notices
	first.Patch(t, configMaps+"/changed", `{"data":{"value":"2"}}`)
	first.Delete(t, configMaps+"/gone")
	create(t, first, "new")
	etcd.Compact(t, etcd.Revision(t))
	second.Restart(t)
	want(t, events, fmt.Sprintf("MODIFIED changed after %d inferred", changed), "ADDED new inferred", fmt.Sprintf("DELETED gone after %d inferred", gone))
	create(t, first, "live")
	want(t, events, "ADDED live")
}

// TestFollowSince checks that the changes since a revision come first, and that a compacted revision is an error.
func TestFollowSince(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	since := create(t, gw, "a")
	gw.Patch(t, configMaps+"/a", `{"data":{"value":"2"}}`)
	create(t, gw, "b")
	events, _ := follow(t, client.Query{Revision: since}, gw)
	want(t, events, fmt.Sprintf("MODIFIED a after %d", since), "ADDED b")

	etcd.Compact(t, etcd.Revision(t))
	c, err := client.New(client.Config{Servers: []string{gw.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	resource := client.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	gw.Kill(t)
	gw.Restart(t)
	f := &client.Follower{Client: c, Query: client.Query{Resource: resource, Revision: since}}
	if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "compacted") && !strings.Contains(err.Error(), "too old") {
		t.Errorf("from a compacted revision: %v", err)
	}
}
