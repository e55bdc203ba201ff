package gatewaytest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
	"revtail/gateway/gatewaytest/robustness"
)

// behindSlowEtcd starts one more gateway, for which the data to and from etcd has a delay.
func (b *behind) behindSlowEtcd(t *testing.T, delay time.Duration) *gatewaytest.Gateway {
	t.Helper()
	proxy, err := robustness.StartProxy(t.Context(), strings.TrimPrefix(b.etcd.Members[0].Endpoint, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() }) // the test is over
	g := b.start(t, "http://"+proxy.Address)
	proxy.Delay(delay)
	return g
}

// hasValue reports whether a list has an object with a value.
func hasValue(list gatewaytest.Object, name, value string) bool {
	for _, item := range list.Items {
		if item.Metadata.Name == name && item.Data["i"] == value {
			return true
		}
	}
	return false
}

// TestBehindReadsItsWritesFromSlowEtcd checks that a write through one of several gateways is in every read that follows it, there and at another one, of its
// user and of others, while the events of etcd arrive late at the gateways.
func TestBehindReadsItsWritesFromSlowEtcd(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	replicas := []*gatewaytest.Gateway{b.behindSlowEtcd(t, 20*time.Millisecond), b.behindSlowEtcd(t, 150*time.Millisecond)}
	var late atomic.Int64 // lists of resourceVersion=0 that do not have the write yet
	t.Run("all", func(t *testing.T) {
		for i, at := range replicas {
			for _, user := range []string{"bob-token", "administrator"} {
				t.Run(fmt.Sprintf("%d %s", i, user), func(t *testing.T) {
					t.Parallel()
					readers := []*gatewaytest.Gateway{at.As(user), at.As("", b.carol), replicas[1-i].As("alice-token")}
					writeAndRead(t, at.As(user), readers, fmt.Sprintf("%d-%s", i, user), &late)
				})
			}
		}
	})
	if !t.Failed() && late.Load() == 0 {
		t.Error("no event of etcd was late: the test shows nothing")
	}
}

// writeAndRead writes through one gateway, and reads each write through several ones.
func writeAndRead(t *testing.T, writer *gatewaytest.Gateway, readers []*gatewaytest.Gateway, name string, late *atomic.Int64) {
	t.Helper()
	const configmaps = "/api/v1/namespaces/a/configmaps"
	path := configmaps + "/" + name
	for range 4 {
		writer.Create(t, configmaps, `{"metadata":{"name":"`+name+`"},"data":{"i":"created"}}`)
		if !hasValue(writer.Get(t, configmaps+"?resourceVersion=0"), name, "created") {
			late.Add(1)
		}
		for i, reader := range readers {
			if !hasValue(reader.Get(t, configmaps), name, "created") {
				t.Fatalf("the list of reader %d does not have the new object", i)
			}
		}
		writer.Patch(t, path, `{"data":{"i":"changed"}}`)
		for i, reader := range readers {
			if got := reader.Get(t, path).Data["i"]; got != "changed" {
				t.Fatalf("reader %d gets the object with %q", i, got)
			}
		}
		writer.Delete(t, path)
		for i, reader := range readers {
			if answer := reader.Do(t, "GET", path, ""); answer.Code != http.StatusNotFound {
				t.Fatalf("reader %d gets the deleted object: %d", i, answer.Code)
			}
		}
	}
}
