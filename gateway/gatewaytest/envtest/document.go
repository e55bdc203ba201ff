package envtest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// document is the name of the document that a run rewrites.
const document = "ENVTEST.md"

// comparison is a suite with its results on both servers.
type comparison struct {
	suite
	cluster, revtail result
}

// outcome is what a run has found.
type outcome []comparison

// write writes the document.
func (o outcome) write(w io.Writer) error {
	text := &strings.Builder{}
	text.WriteString(`# Suites that use envtest

` + "`make envtest`" + ` runs the test suites of other projects, which start a control plane with controller-runtime's envtest, on a kube-apiserver 1.37
with etcd and on revtail in their place (` + "`revtail envtest setup`" + `), and rewrites this document. The suites come from Go modules as they are.

| suite | tests | pass on kube-apiserver | pass on revtail | time on kube-apiserver | time on revtail |
|---|--:|--:|--:|--:|--:|
`)
	for _, c := range o {
		fmt.Fprintf(text, "| %s | %d | %d | %d | %s | %s |\n", c.name, max(c.cluster.tests(), c.revtail.tests()), c.cluster.passed, c.revtail.passed, seconds(c.cluster.elapsed), seconds(c.revtail.elapsed))
	}
	text.WriteString(`
The time is that of the test programs, one after the other, without their build, on a machine that does other work, too. A package with a test that
fails runs once more and counts as it then ends, on both servers.

`)
	for _, c := range o {
		fmt.Fprintf(text, "- **%s**, `%s`: %s. Packages: `%s`.\n", c.name, c.module, c.about, strings.Join(c.packages, "`, `"))
	}
	o.writeFailures(text, "What passes on kube-apiserver only", func(c comparison) []string { return without(c.revtail.failed, c.cluster.failed) })
	o.writeFailures(text, "What passes on revtail only", func(c comparison) []string { return without(c.cluster.failed, c.revtail.failed) })
	o.writeFailures(text, "What passes on neither", func(c comparison) []string {
		return without(c.revtail.failed, without(c.revtail.failed, c.cluster.failed))
	})
	_, err := io.WriteString(w, text.String())
	return err
}

// writeFailures writes a section with the tests below each reason.
func (o outcome) writeFailures(text *strings.Builder, title string, of func(comparison) []string) {
	byReason := map[string][]string{}
	for _, c := range o {
		for _, test := range of(c) {
			why, _ := reason(c.name, test)
			byReason[why] = append(byReason[why], c.name+" "+test)
		}
	}
	fmt.Fprintf(text, "\n## %s\n", title)
	if len(byReason) == 0 {
		text.WriteString("\nNothing.\n")
	}
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(text, "\n%s (%d):\n\n", why, len(byReason[why]))
		for _, test := range byReason[why] {
			fmt.Fprintf(text, "- `%s`\n", strings.ReplaceAll(test, "`", "'"))
		}
	}
}

// without returns the names that other does not have.
func without(names, other []string) (rest []string) {
	for _, name := range names {
		if !slices.Contains(other, name) {
			rest = append(rest, name)
		}
	}
	return rest
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
