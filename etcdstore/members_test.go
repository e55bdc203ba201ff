package etcdstore_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"revtail/etcdstore"
	"revtail/etcdstore/monitor"
)

// health is the result of a Monitor that runs.
func health(t *testing.T, m *monitor.Monitor) monitor.Health {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return m.Poll(ctx)
}

// mentions reports whether one of the sentences has the words.
func mentions(problems []string, words string) bool {
	return slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, words) })
}

// TestMonitor checks the reports about a healthy etcd, a compacted one, a full one, and an unreachable one.
func TestMonitor(t *testing.T) {
	t.Parallel()
	server := startConfigured(t, "quota-backend-bytes: 2097152")
	e := open(t, server.Endpoints()...)
	if err := e.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	rev, err := e.Create(t.Context(), "/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := monitor.New(e, slog.New(slog.DiscardHandler))
	c := health(t, m)
	if len(c.Members) != 1 || c.Members[0].Quota != 2<<20 || c.Members[0].Size == 0 || c.Newest != rev || c.Oldest != 1 || !c.Grown.IsZero() || len(c.Problems()) > 0 {
		t.Errorf("at the beginning: %+v, problems %q", c, c.Problems())
	}

	foreign := foreignClient(t, clientv3.Config{Endpoints: server.Endpoints()})
	if _, err := foreign.Compact(t.Context(), int64(rev)); err != nil {
		t.Fatal(err)
	}
	compacted := health(t, m)
	if compacted.Oldest != rev || compacted.Grown.IsZero() {
		t.Errorf("after a compaction to %d: %+v", rev, compacted)
	}
	if again := health(t, m); again.Oldest != rev || !again.Grown.Equal(compacted.Grown) {
		t.Errorf("later: %+v", again)
	}

	value := make([]byte, 256<<10)
	for range 2000 { // etcd checks the size of committed data ten times a second
		if _, err = e.Update(t.Context(), "/a", value, rev); err != nil {
			break
		}
		if _, rev, err = e.Get(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, etcdstore.ErrStorageFull) {
		t.Fatalf("2,000 writes of 256 KiB: %v, want ErrStorageFull", err)
	}
	if c := health(t, m); len(c.Alarms) != 1 || c.Alarms[0].Type != "NOSPACE" || !mentions(c.Problems(), "507") || !mentions(c.Problems(), "of its quota") {
		t.Errorf("a full etcd: %+v, problems %q", c, c.Problems())
	}
	enableAuth(t, foreign)
	guest, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints(), Username: "guest", Password: func() string { return "secret" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = guest.Close() }()
	if c := health(t, monitor.New(guest, slog.New(slog.DiscardHandler))); len(c.Members) != 1 || c.Members[0].Err == nil && (len(c.Alarms) != 1 || c.Alarms[0].Type != "NOSPACE") {
		t.Errorf("as a guest: %+v", c)
	}

	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if c := health(t, m); len(c.Members) != 1 || c.Members[0].Err == nil || !mentions(c.Problems(), "does not answer") {
		t.Errorf("an unreachable etcd: %+v, problems %q", c, c.Problems())
	}
}
