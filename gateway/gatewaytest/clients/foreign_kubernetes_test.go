package clients

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// kubeAPIServer is the owner of the data in the ready line.
const kubeAPIServer = "kube-apiserver"

// TestForeignKubernetes checks that gateways on the etcd of a kube-apiserver leave its data unchanged, whatever clients request: while it
// runs, when it has stopped, and with its etcd in their own process.
func TestForeignKubernetes(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 1)
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	journal := etcd.Follow(t, 0)
	early := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints())                                // its prefix is empty yet
	server := gatewaytest.StartKubeAPIServer(t, cluster.Endpoints(), "--etcd-compaction-interval", "10s") // not after five minutes only
	populate(t, server)
	awaitRest(t, journal)
	gatewaytest.Until(t, "a compaction by a kube-apiserver", func() bool {
		_, modified := etcd.Get(t, "compact_rev_key")
		return modified > 0
	})
	t.Run("at work", func(t *testing.T) {
		judge := newJudge(t, etcd)
		visitors := arrive(t, cluster.Endpoints(), clusterPlaces)
		visit(t, nil, append(visitors, visitor{early, slices.Concat(everyWrite...)})...)
		judge.check(t, isKubernetesOwn)
	})
	early.Stop(t)
	t.Run("beside a prefix of its own", func(t *testing.T) { checkClaimed(t, etcd, cluster.Endpoints()) })
	server.Stop(t)
	awaitLeases(t, etcd)
	copyCluster(t, etcd)
	t.Run("stopped", func(t *testing.T) { checkStopped(t, etcd, cluster.Endpoints()) })
	checkEmbedded(t, etcd, cluster.Members[0])
}

// checkStopped checks that etcd does not grow by a single revision when the kube-apiserver writes nothing.
func checkStopped(t *testing.T, etcd *gatewaytest.Keys, endpoints string) {
	t.Helper()
	judge := newJudge(t, etcd)
	visitors := arrive(t, endpoints, slices.Concat(clusterPlaces, copyPlaces))
	for _, v := range visitors {
		v.tryAll(t)
	}
	checkRefused(t, endpoints)
	checkDoctor(t, endpoints, visitors[0].gw)
	visit(t, nil, visitors...)
	judge.check(t, noWriter)
}

// checkEmbedded checks that a gateway whose embedded etcd uses the data directory of the cluster's leaves all data unchanged, also for the
// cluster's etcd.
func checkEmbedded(t *testing.T, etcd *gatewaytest.Keys, member *gatewaytest.Member) {
	t.Helper()
	before := etcd.Dump(t)
	member.Stop(t)
	gw := gatewaytest.Start(t, "--data-dir", member.DataDir)
	t.Run("embedded", func(t *testing.T) {
		own := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
		judge := &judge{etcd: own, before: before, journal: own.Follow(t, before.Revision)}
		v := visitor{gw, slices.Concat(everyWrite...)}
		checkOwner(t, gw, kubeAPIServer)
		v.tryAll(t)
		visit(t, nil, v)
		judge.check(t, noWriter)
	})
	gw.Stop(t)
	member.Restart(t)
	after := etcd.Dump(t)
	for _, difference := range before.Differences(after, func(string) bool { return false }) {
		t.Errorf("after the end of the gateway: %.400s", difference)
	}
	if after.Revision != before.Revision {
		t.Errorf("after the end of the gateway: revision %d, before %d", after.Revision, before.Revision)
	}
}

var (
	everyWrite = [][]request{writes, keyWrites, customWrites}
	someWrites = [][]request{writes, keyWrites}

	// clusterPlaces are at the prefix of the cluster, below it, and outside of it.
	clusterPlaces = []place{
		{"", kubeAPIServer, everyWrite},
		{"--etcd-prefix /registry", kubeAPIServer, everyWrite},
		{"--etcd-prefix /registry --keys *", kubeAPIServer, [][]request{writes}},
		{"--etcd-prefix /registry/deployments", kubeAPIServer, someWrites},
		{"--etcd-prefix /registry/configmaps", kubeAPIServer, someWrites},
		{"--etcd-prefix /registry/proof.example.com", kubeAPIServer, someWrites},
		{"--etcd-prefix /registry/nothing", kubeAPIServer, someWrites},
		{"--etcd-prefix /registry/nothing/below", kubeAPIServer, someWrites},
	}
	// copyPlaces are above, at, below and outside of a copy of the cluster with a longer prefix, where no kube-apiserver runs.
	copyPlaces = []place{
		{"--etcd-prefix /copies", kubeAPIServer, someWrites},
		{"--etcd-prefix /copies/one", kubeAPIServer, someWrites},
		{"--etcd-prefix /copies/one/registry", kubeAPIServer, everyWrite},
		{"--etcd-prefix /copies/one/registry/pods", kubeAPIServer, someWrites},
		{"--etcd-prefix /copies/two", kubeAPIServer, someWrites},
	}
)

// copyCluster copies all keys of the cluster to a prefix that another kube-apiserver could use.
func copyCluster(t *testing.T, etcd *gatewaytest.Keys) {
	t.Helper()
	const most = 100 // etcd accepts 128 operations in a transaction
	var batch []string
	for key, entry := range etcd.Dump(t).Entries {
		if strings.HasPrefix(key, "/registry/") {
			batch = append(batch, "/copies/one"+key, entry.Value)
		}
		if len(batch) == 2*most {
			etcd.Put(t, batch...)
			batch = nil
		}
	}
	etcd.Put(t, batch...)
}

// checkRefused checks that a gateway with flags for writing to a cluster's data does not start.
func checkRefused(t *testing.T, endpoints string) {
	t.Helper()
	for _, args := range []string{
		"--writable", "--adopt", "--adopt --writable", "--adopt --etcd-prefix /registry/nothing", "--writable --etcd-prefix /copies", "--etcd-prefix /",
	} {
		said, code := run(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--etcd-endpoints", endpoints}, strings.Fields(args)...)...)
		if flag := strings.Fields(args)[0]; code != 2 || !strings.Contains(said, flag) {
			t.Errorf("serve %s: exit code %d, want 2 and a message that names %s\n%s", args, code, flag, said)
		}
	}
}

// checkDoctor checks that `revtail doctor` names the owner of the data.
func checkDoctor(t *testing.T, endpoints string, gw *gatewaytest.Gateway) {
	t.Helper()
	said, code := run(t, "doctor", "--etcd-endpoints", endpoints, "--server", gw.URL)
	if code != 0 || !strings.Contains(said, "a kube-apiserver has written") {
		t.Errorf("doctor: exit code %d\n%s", code, said)
	}
}

// run runs revtail to its end.
func run(t *testing.T, args ...string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), args...)
	cmd.Env = []string{} // without a REVTAIL_… of the tests' own environment
	output, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(output), cmd.ProcessState.ExitCode()
}
