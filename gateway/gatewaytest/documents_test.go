package gatewaytest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// A safeguard keeps a command of a document from the cluster, etcd or container engine that its reader has configured for a program. A
// command needs one of the two.
type safeguard struct {
	program string         // first words of the command
	flag    *regexp.Regexp // a flag of the command itself; nil: none
	before  *regexp.Regexp // a command above it in the same section, or chapter; nil: none
	chapter bool
	advice  string
}

var safeguards = []safeguard{
	{"kubectl", regexp.MustCompile(` --(server|context)[ =]`), regexp.MustCompile(`^export KUBECONFIG=/dev/null KUBERNETES_MASTER= KUBERNETES_SERVICE_HOST=$`), false,
		"export KUBECONFIG=/dev/null KUBERNETES_MASTER= KUBERNETES_SERVICE_HOST="},
	{"etcdctl", regexp.MustCompile(` --endpoints[ =]`), regexp.MustCompile(`^export ETCDCTL_ENDPOINTS=http`), false, "export ETCDCTL_ENDPOINTS=http://127.0.0.1:2379"},
	{"helm", regexp.MustCompile(` --kube-context[ =]|^helm (template|lint|package|version|dependency) `), nil, false, "helm --kube-context my-cluster"},
	{"docker", nil, regexp.MustCompile(`^docker info `), true, "docker info --format '{{.Name}}'"},
	// Otherwise the project is named after the folder, and many projects have a folder `deploy`: `down --volumes` would remove their
	// volumes.
	{"docker compose", regexp.MustCompile(` -p revtail(-[a-z-]+)? `), nil, false, "docker compose -p revtail"},
	{"docker-compose", regexp.MustCompile(` -p revtail `), nil, false, "docker-compose -p revtail"},
}

// invocation matches the programs that a command line starts: at its beginning, and after separators of commands.
var invocation = regexp.MustCompile(`(?m)(?:^|[|;&(])\s*(?:sudo\s+|\w+=\S*\s+)*((?:kubectl|etcdctl|helm|docker|docker-compose)(?:\s[^|;&\n]*|$))`)

// unsafe returns the unsafe commands of blocks, and the number of checked commands.
func unsafe(blocks []gatewaytest.Block) (findings []string, checked int) {
	var last gatewaytest.Block
	var section, chapter []string // the commands of these so far
	for _, block := range blocks {
		if block.Chapter != last.Chapter {
			chapter = nil
		}
		if block.Section != last.Section {
			section = nil
		}
		last = block
		for _, step := range block.Steps() {
			for _, match := range invocation.FindAllStringSubmatch(step.Command, -1) {
				checked++
				for _, guard := range safeguards {
					above := section
					if guard.chapter {
						above = chapter
					}
					if !guard.keeps(match[1], above) {
						findings = append(findings, fmt.Sprintf("line %d: %s: %s", step.Line, match[1], guard.advice))
					}
				}
			}
			section, chapter = append(section, step.Command), append(chapter, step.Command)
		}
	}
	return findings, checked
}

// keeps reports whether the safeguard does not apply to a command, or is in place.
func (s safeguard) keeps(command string, above []string) bool {
	if !strings.HasPrefix(command+" ", s.program+" ") || s.flag != nil && s.flag.MatchString(command) {
		return true
	}
	if s.before == nil {
		return false
	}
	return s.before.MatchString(command) || slices.ContainsFunc(above, s.before.MatchString)
}

// comment matches the commands in comments of the files of deploy.
var comment = regexp.MustCompile(`(?m)^\s*# ((?:sudo )?(?:kubectl|etcdctl|helm|docker|docker-compose) .*)$`)

// blocksOf returns the blocks of a document; of another file of deploy, the commands in its comments.
func blocksOf(t *testing.T, path string) []gatewaytest.Block {
	t.Helper()
	if filepath.Ext(path) == ".md" {
		return gatewaytest.ReadDocument(t, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []gatewaytest.Block
	for i, match := range comment.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, gatewaytest.Block{Section: fmt.Sprint(i), Chapter: fmt.Sprint(i), Text: match[1] + "\n"}) // each is a section
	}
	return blocks
}

// eachFile calls f with the path of each file of the repository, from this folder and from the root.
func eachFile(t *testing.T, f func(path, name string)) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() && (entry.Name() == ".git" || name == "bin" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			f(path, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocumentsAreSafe checks that no command of a document changes the cluster, etcd or container engine that its reader has configured.
func TestDocumentsAreSafe(t *testing.T) {
	checked := map[string]int{}
	eachFile(t, func(path, name string) {
		if filepath.Ext(name) != ".md" && !strings.HasPrefix(name, "deploy/") {
			return
		}
		findings, n := unsafe(blocksOf(t, path))
		checked[name] = n
		for _, finding := range findings {
			t.Errorf("%s: %s", name, finding)
		}
	})
	for name, atLeast := range map[string]int{
		"README.md": 3, "deploy/README.md": 11, "deploy/CLIENTS.md": 5, "deploy/TLS.md": 1, "deploy/ENCRYPTION.md": 7, "deploy/OBSERVABILITY.md": 2, "gateway/api/mount/README.md": 4,
		"deploy/kubernetes/revtail.yaml": 1, "deploy/kubernetes/README.md": 20,
	} {
		if checked[name] < atLeast {
			t.Errorf("%s: %d commands were checked, want at least %d", name, checked[name], atLeast)
		}
	}
}

// TestUnsafeCommands checks that TestDocumentsAreSafe finds unsafe commands.
func TestUnsafeCommands(t *testing.T) {
	const guarded = "$ export KUBECONFIG=/dev/null KUBERNETES_MASTER= KUBERNETES_SERVICE_HOST=   # why\n"
	for text, want := range map[string]int{
		"$ kubectl edit configmap -n kube-system coredns\nconfigmap/coredns edited\n":                  1,
		"$ a | kubectl apply -f - && X=1 kubectl get a; sudo kubectl get b\n":                          3,
		"$ export KUBECONFIG=/dev/null\n$ kubectl get a\n":                                             1, // a pod's own cluster
		"$ kubectl get a\n" + guarded:                                                                  1,
		guarded + "$ kubectl get a &\n$ kubectl get b\n":                                               0,
		guarded + "$ kubectl get a\n```\n## Another section\n```\n$ kubectl get b\n":                   1,
		"$ kubectl --server http://127.0.0.1:8080 get a   \n":                                          0,
		"$ kubectl get a   # --server\n":                                                               1,
		"$ kubectl apply --context=my-cluster -f .\n":                                                  0,
		"kubectl get configmaps --watch\nkubectl get pods\n":                                           2,
		"$ etcdctl put a b\n":                                                                          1,
		"$ export ETCDCTL_ENDPOINTS=http://127.0.0.1:2379\n$ etcdctl put a '\n\"'\nOK\n":               0,
		"$ helm -n a install b c\n$ helm template b c\n$ helm --kube-context my-cluster uninstall b\n": 1,
		"$ docker run a\n": 1,
		"$ docker info --format '{{.Name}}'\n$ docker run a\n":                                0,
		"$ docker compose -f a up\n":                                                          2,
		"$ docker info -f a\n$ docker compose -p revtail -f a exec b etcdctl put c d\n":       0,
		"$ docker info -f a\n```\n### A part of it\n```\n$ docker run a\n":                    0,
		"$ docker info -f a\n```\n## Another section\n```\n$ docker run a\n":                  1,
		"$ curl a -d 'kubectl get'\n$ make kubectl\nkubectl is said in an output\n$ echo 'x'": 0,
	} {
		findings, _ := unsafe(gatewaytest.Blocks("## A section\n```console\n" + text + "```\n"))
		if len(findings) != want {
			t.Errorf("%s%d findings, want %d:%s", text, len(findings), want, cmp.Diff([]string{}, findings))
		}
	}
}
