package gatewaytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/program"
)

// Tool returns the path of a program that the tests use but do not build: from the folder REVTAIL_TOOLS or, without that, from PATH. If it
// is not in PATH the test is skipped, and names the remedy.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	if folder := os.Getenv("REVTAIL_TOOLS"); folder != "" {
		path, err := exec.LookPath(filepath.Join(folder, name))
		if err != nil {
			tb.Fatal(err)
		}
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skipf("%v: `make tools` builds it, and `make test` runs this test then", err)
	}
	return path
}

// Cluster is a cluster of etcd processes.
type Cluster struct {
	// Members are in the order of Endpoints.
	Members []*Member
}

// Member is an etcd process.
type Member struct {
	// Endpoint is the URL for clients. It does not change over restarts.
	Endpoint string
	// DataDir is its data directory, and Peer the URL for the other members.
	DataDir, Peer string

	*process
	command []string
}

// StartEtcd starts a cluster of n members, with more arguments if there are any, and waits until each of them answers
// linearizable reads. It ends with the test.
func StartEtcd(tb testing.TB, n int, args ...string) *Cluster {
	tb.Helper()
	binary := Tool(tb, "etcd")
	c := &Cluster{}
	var peers, initial []string
	for i := range n {
		c.Members = append(c.Members, &Member{Endpoint: "http://" + program.FreeAddress(), DataDir: filepath.Join(tb.TempDir(), "data")})
		c.Members[i].Peer = "http://" + program.FreeAddress()
		peers = append(peers, c.Members[i].Peer)
		initial = append(initial, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	for i, m := range c.Members {
		m.command = append([]string{
			binary, "--name", fmt.Sprintf("m%d", i), "--data-dir", m.DataDir,
			"--listen-client-urls", m.Endpoint, "--advertise-client-urls", m.Endpoint,
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
			"--initial-cluster", strings.Join(initial, ","), "--log-level", "warn",
		}, args...)
		m.process = launch(tb, "etcd at "+m.Endpoint, filepath.Join(tb.ArtifactDir(), fmt.Sprintf("etcd-%d.log", i)), m.command...)
	}
	for _, m := range c.Members {
		DialEtcd(tb, m.Endpoint).Revision(tb)
	}
	return c
}

// Restart starts a member again after Stop or Kill.
func (m *Member) Restart(tb testing.TB) {
	tb.Helper()
	m.process = launch(tb, m.name, m.log, m.command...)
}

// Endpoints returns the clients' URLs of all members, for --etcd-endpoints.
func (c *Cluster) Endpoints() string {
	var urls []string
	for _, m := range c.Members {
		urls = append(urls, m.Endpoint)
	}
	return strings.Join(urls, ",")
}

// ReplaceBy starts a member at the address of another one, with the data that it has. Both have ended before.
func (m *Member) ReplaceBy(tb testing.TB, other *Member) {
	tb.Helper()
	m.DataDir, m.Peer = other.DataDir, other.Peer
	m.command = append(slices.Clone(other.command), "--listen-client-urls", m.Endpoint, "--advertise-client-urls", m.Endpoint)
	m.Restart(tb)
}
