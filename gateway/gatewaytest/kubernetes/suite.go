package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

const (
	timeout = 40 * time.Minute // the longest run of the suite
	nodes   = 3                // enough for the tests of scheduling
)

// suite is the program with Kubernetes' end-to-end tests, and what it talks to.
type suite struct {
	program, kubectl, kubeconfig string
}

// newSuite returns the suite for a gateway.
func newSuite(t *testing.T, gw *gatewaytest.Gateway) *suite {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"revtail",
		"clusters":[{"name":"revtail","cluster":{"server":%q}}],"contexts":[{"name":"revtail","context":{"cluster":"revtail"}}]}`, gw.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &suite{program: gatewaytest.Tool(t, "e2e.test"), kubectl: gatewaytest.Tool(t, "kubectl"), kubeconfig: kubeconfig}
}

// spec is the result of a test, in the words of Ginkgo's JSON report.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string // passed, failed, skipped, …
	RunTime                 time.Duration
	Failure                 struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

// name returns the name of a test, as it is in the list of conformance tests.
func (s spec) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

// list returns the names of all conformance tests.
func (s *suite) list(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, one := range s.run(t, "list", `\[Conformance\]`, io.Discard, "-ginkgo.dry-run") {
		if one.LeafNodeType == "It" && one.State == "passed" { // the others are not in focus
			names = append(names, one.name())
		}
	}
	slices.Sort(names)
	return names
}

// try runs tests one after the other, and returns their results by name.
func (s *suite) try(t *testing.T, names []string) map[string]spec {
	t.Helper()
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = regexp.QuoteMeta(name)
	}
	results := map[string]spec{}
	for _, one := range s.run(t, "run", strings.Join(patterns, "|"), &progress{of: len(names)}, "-ginkgo.timeout="+timeout.String()) {
		if slices.Contains(names, one.name()) {
			results[one.name()] = one
		}
	}
	return results
}

// progress writes to standard output how many tests are done, from the output of the suite.
type progress struct{ done, of int }

func (p *progress) Write(output []byte) (int, error) {
	if n := bytes.Count(output, []byte("•")); n > 0 { // the mark of a test that has run
		p.done += n
		_, _ = fmt.Fprintf(os.Stdout, "%d of %d tests are done\n", p.done, p.of)
	}
	return len(output), nil
}

// run starts the suite with a focus and returns its report. Its output is an artifact of the test.
func (s *suite) run(t *testing.T, what, focus string, progress io.Writer, args ...string) []spec {
	t.Helper()
	report := filepath.Join(t.ArtifactDir(), what+".json")
	output, err := os.Create(filepath.Join(t.ArtifactDir(), what+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	cmd := exec.CommandContext(t.Context(), s.program, append([]string{
		"-kubeconfig=" + s.kubeconfig, "-kubectl-path=" + s.kubectl, "-provider=skeleton", "-num-nodes=" + strconv.Itoa(nodes), "-allowed-not-ready-nodes=-1",
		"-minStartupPods=-1", "-e2e-verify-service-account=false", "-dump-logs-on-failure=false", "-disable-log-dump",
		"-ginkgo.no-color", "-ginkgo.json-report=" + report, "-ginkgo.focus=" + focus,
	}, args...)...)
	cmd.Stdout = io.MultiWriter(output, progress)
	cmd.Stderr = cmd.Stdout
	ended := cmd.Run()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%s: %v, and no report: %v; see %s", s.program, ended, err, output.Name())
	}
	var reports []struct {
		SpecReports                []spec
		SpecialSuiteFailureReasons []string
	}
	if err := json.Unmarshal(text, &reports); err != nil || len(reports) != 1 {
		t.Fatalf("%s: %v, %d reports", report, err, len(reports))
	}
	for _, reason := range reports[0].SpecialSuiteFailureReasons {
		t.Logf("the suite: %s", reason)
	}
	return reports[0].SpecReports
}

// version returns the version of Kubernetes of which the suite is a part.
func (s *suite) version(t *testing.T) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), s.program, "-version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}
