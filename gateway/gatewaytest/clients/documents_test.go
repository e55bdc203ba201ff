package clients

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// section returns the blocks of a document below a heading.
func section(t *testing.T, path, title string) []gatewaytest.Block {
	t.Helper()
	return gatewaytest.Section(t, gatewaytest.ReadDocument(t, path), title)
}

// TestSession runs the session of deploy/CLIENTS.md unchanged.
func TestSession(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		gatewaytest.StartAsDocumented(t, r.folder)
		blocks := section(t, clientsDocument, "A session")
		var events string
		for _, block := range blocks {
			if block.Language == "json" {
				events += block.Text
				continue
			}
			for _, step := range block.Steps() {
				switch {
				case strings.HasPrefix(step.Command, "revtail watch"): // followEdits has run it
					events += step.Output
				case strings.HasPrefix(step.Command, "kubectl edit"):
					r.followEdits(t, blocks)
					r.do(t, step)
				default:
					r.run(t, step)
				}
			}
		}
		r.expect(t, events)
	})
}

// TestReadObjects runs the commands of deploy/CLIENTS.md that read objects.
func TestReadObjects(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		gatewaytest.StartAsDocumented(t, r.folder)
		r.runBlocks(t, section(t, clientsDocument, "Read objects"), "shop.yaml")
	})
}

// TestChangeObjects runs the commands of deploy/CLIENTS.md that change objects.
func TestChangeObjects(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		gatewaytest.StartAsDocumented(t, r.folder)
		r.runBlocks(t, section(t, clientsDocument, "Change objects"), "web.yaml")
	})
}

// followEdits runs `revtail watch`, the last command of the document, before the edit whose event it shows.
func (r *reader) followEdits(t *testing.T, blocks []gatewaytest.Block) {
	t.Helper()
	for _, block := range blocks {
		for _, step := range block.Steps() {
			if strings.HasPrefix(step.Command, "revtail watch") {
				step.Output = "revtail: watching configmaps: …"
				r.follow(t, step)
				return
			}
		}
	}
	t.Fatal("the section has no `revtail watch`")
}

// TestKubectlSnippet runs the commands of the snippet for kubectl, each in a shell of its own.
func TestKubectlSnippet(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(snippets(t)["kubectl"]), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d commands, want three:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		r := newReader(t, t.TempDir())
		gw := gatewaytest.StartAsDocumented(t, r.folder)
		start := func(command string) *follower {
			return startFollower(t, r.bash(t, "-c", lines[0]+"\n"+command))
		}

		const maps = "/api/v1/namespaces/default/configmaps"
		gw.Create(t, maps, gatewaytest.ConfigMap("a", "1"))
		table := start(lines[1])
		table.expect(t, tableEvent, "ADDED a")
		var later []string // the events after revision 5
		for _, value := range []string{"2", "3", "4", "5", "6", "7"} {
			object := gw.Patch(t, maps+"/a", `{"data":{"value":"`+value+`"}}`)
			table.expect(t, tableEvent, "MODIFIED a")
			if object.Revision(t) > 5 {
				later = append(later, "MODIFIED a")
			}
		}
		gw.Delete(t, maps+"/a")
		table.expect(t, tableEvent, "DELETED a")
		raw := start(lines[2])
		raw.expect(t, curlEvent, append(later, "DELETED a")...)
	})
}

// TestMountsDocument runs the commands of gateway/api/mount/README.md, with its configuration.
func TestMountsDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		for _, block := range section(t, "../../api/mount/README.md", "Mounts: keys of other programs, for kubectl") {
			if block.Language == "yaml" {
				if err := os.WriteFile(filepath.Join(r.folder, "revtail.yaml"), []byte(block.Text), 0o600); err != nil {
					t.Fatal(err)
				}
				gatewaytest.StartAsDocumented(t, r.folder, "--config", "revtail.yaml")
				continue
			}
			for _, step := range block.Steps() {
				r.do(t, step)
			}
		}
	})
}

// TestBackupInTheDocuments runs the commands for an embedded etcd of deploy/README.md.
func TestBackupInTheDocuments(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		gw := gatewaytest.StartAsDocumented(t, r.folder)
		const maps = "/api/v1/namespaces/default/configmaps"
		gw.Create(t, maps, gatewaytest.ConfigMap("kept", "1"))
		for _, block := range section(t, operations, "Backup and restore") {
			if strings.Contains(block.Text, "…") {
				continue // addresses of several members, and an event
			}
			for _, step := range block.Steps() {
				if strings.HasPrefix(step.Command, "mv ") {
					gw.Create(t, maps, gatewaytest.ConfigMap("lost", "1"))
					gw.Stop(t)
				}
				r.do(t, step)
			}
		}
		gw.Restart(t)
		for name, want := range map[string]int{"kept": http.StatusOK, "lost": http.StatusNotFound} {
			if answer := gw.Do(t, http.MethodGet, maps+"/"+name, ""); answer.Code != want {
				t.Errorf("after the restore: %s: %d %s", name, answer.Code, answer.Body)
			}
		}
		if now := gw.Create(t, maps, gatewaytest.ConfigMap("new", "1")).Revision(t); now <= 1_000_000_000 {
			t.Errorf("after the restore a write has revision %d", now)
		}
	})
}

// operations is the document about deploying and operating.
const operations = "../../../deploy/README.md"

// TestTrap checks that each export of the documents is needed: without it a command reaches the configured cluster or etcd.
func TestTrap(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		commands := []string{
			"kubectl get configmaps",
			"KUBECONFIG= KUBERNETES_MASTER= kubectl get configmaps", // ~/.kube/config
			"KUBECONFIG=/dev/null KUBERNETES_SERVICE_HOST= kubectl get configmaps",
			"etcdctl put a b",
		}
		if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err == nil {
			commands = append(commands, "KUBECONFIG=/dev/null KUBERNETES_MASTER= kubectl get configmaps")
		}
		for _, command := range commands {
			r.do(t, gatewaytest.Step{Command: "! timeout 10 env " + command})
			if len(r.trap.Caught()) == 0 {
				t.Errorf("%s does not reach the trap", command)
			}
		}
		r.do(t, gatewaytest.Step{Command: "! KUBECONFIG=/dev/null KUBERNETES_MASTER= KUBERNETES_SERVICE_HOST= kubectl get configmaps",
			Output: "The connection to the server localhost:8080 was refused…"})
	})
}
