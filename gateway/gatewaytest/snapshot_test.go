package gatewaytest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// revtail runs a command of the program, and returns its stdout.
func revtail(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), args...)
	cmd.Dir, cmd.Env = t.TempDir(), withoutOptions()
	out, err := cmd.Output()
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it unwrapped
		t.Fatalf("revtail %s: %v\n%s", strings.Join(args, " "), err, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// withoutOptions returns the environment without the variables of the program and of the tests.
func withoutOptions() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "REVTAIL_") })
}

// TestSnapshotOfCluster saves a cluster of three members that has lost one, and restores it while a gateway runs: its watches end with 410,
// and it serves the state of the snapshot.
func TestSnapshotOfCluster(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 3)
	gw := gatewaytest.Start(t, "--etcd-endpoints", cluster.Endpoints())
	kept := gw.Create(t, configMaps, gatewaytest.ConfigMap("kept", "1"))
	cluster.Members[0].Kill(t)
	file := filepath.Join(t.TempDir(), "backup.db")
	revtail(t, "snapshot", "save", file, "--etcd-endpoints", cluster.Endpoints())
	cluster.Members[0].Restart(t)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("lost", "1"))
	checkStatus(t, file)

	watch := gw.Watch(t, configMaps+"?watch=1&resourceVersion="+kept.Metadata.ResourceVersion)
	if event := watch.Next(t); event.Object.Metadata.Name != "lost" {
		t.Fatalf("before the restore: %s", event.Line)
	}
	var initial []string
	for i, m := range cluster.Members {
		m.Stop(t)
		initial = append(initial, "m"+string(rune('0'+i))+"="+m.Peer)
	}
	for i, m := range cluster.Members {
		if err := os.RemoveAll(m.DataDir); err != nil {
			t.Fatal(err)
		}
		revtail(t, "snapshot", "restore", file, "--data-dir", m.DataDir, "--name", "m"+string(rune('0'+i)), "--initial-cluster", strings.Join(initial, ","))
	}
	for _, m := range cluster.Members {
		m.Restart(t)
	}
	if event := watch.Next(t); !strings.Contains(event.Line, `"code":410`) {
		t.Errorf("the open watch: %s, want 410", event.Line)
	}
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	gatewaytest.Until(t, "the restored state", func() bool {
		answer := gw.Do(t, "GET", configMaps, "")
		list.Items = nil
		return answer.Code == 200 && json.Unmarshal([]byte(answer.Body), &list) == nil && len(list.Items) == 1
	})
	if name := list.Items[0].Metadata.Name; name != "kept" {
		t.Errorf("the restored state has %q, want kept", name)
	}
	if line := gw.Watch(t, configMaps+"?watch=1&resourceVersion="+kept.Metadata.ResourceVersion).Next(t).Line; !strings.Contains(line, `"code":410`) {
		t.Errorf("a watch that resumes from before the restore: %s, want 410", line)
	}
	if revision := gatewaytest.DialEtcd(t, cluster.Members[2].Endpoint).Revision(t); revision < 1_000_000_000 {
		t.Errorf("the revision after the restore is %d", revision)
	}
}

// checkStatus compares the status of a snapshot with that of etcdutl.
func checkStatus(t *testing.T, file string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "etcdutl"), "snapshot", "status", file, "-w", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(revtail(t, "snapshot", "status", file, "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if !cmp.Equal(got[name], want[name]) {
			t.Errorf("%s is %v, and that of etcdutl %v", name, got[name], want[name])
		}
	}
}

// TestBackupDocument runs the commands of the document for the embedded etcd.
func TestBackupDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		folder := t.TempDir()
		var steps []gatewaytest.Step
		for _, block := range gatewaytest.Section(t, gatewaytest.ReadDocument(t, "../../deploy/README.md"), "Backup and restore") {
			for _, step := range block.Steps() {
				if !strings.Contains(step.Command, "--initial-cluster") && !strings.HasPrefix(step.Command, "{") { // the members of a cluster: TestSnapshotOfCluster
					steps = append(steps, step)
				}
			}
		}
		gw := gatewaytest.StartAsDocumented(t, folder)
		gw.Create(t, configMaps, gatewaytest.ConfigMap("kept", "1"))
		for _, step := range steps {
			if strings.HasPrefix(step.Command, "mv ") {
				gw.Create(t, configMaps, gatewaytest.ConfigMap("lost", "1"))
				gw.Stop(t)
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", step.Command)
			cmd.Dir, cmd.Env = folder, append(withoutOptions(), "PATH="+filepath.Dir(gatewaytest.Binary(t))+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("line %d: %s: %v\n%s", step.Line, step.Command, err, out)
			}
		}
		gw.Restart(t)
		if list := gw.Do(t, "GET", configMaps, "").Body; !strings.Contains(list, `"kept"`) || strings.Contains(list, `"lost"`) {
			t.Errorf("after the restore: %s", list)
		}
	})
}

// TestSnapshotWithLogin saves an etcd with TLS and authentication, and checks the message for a user without the role root.
func TestSnapshotWithLogin(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartSecureEtcd(t)
	etcd.EnableLogin(t, "revtail", password, "/registry/", "revtail/")
	cert, key := etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "no-user"))
	file := filepath.Join(t.TempDir(), "backup.db")
	args := []string{"snapshot", "save", file, "--etcd-endpoints", etcd.Endpoint, "--etcd-cacert", etcd.CA, "--etcd-cert", cert, "--etcd-key", key,
		"--etcd-password-file", secretFile(t, password+"\n"), "--etcd-user"}
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), append(args, "revtail")...)
	cmd.Env = withoutOptions()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a snapshot needs a user with the role root") {
		t.Errorf("a user without the role root: %v, %s", err, out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the refused command leaves a file")
	}
	revtail(t, append(args, "root")...)
	checkStatus(t, file)
}
