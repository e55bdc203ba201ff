package kubernetes

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// document is the name of the document that a run rewrites.
const document = "CONFORMANCE.md"

// outcome is what a run has found.
type outcome struct {
	version string // of the suite
	names   []string
	selection
	passed []string
	failed map[string]string // with the reason
}

// write writes the document.
func (o outcome) write(w io.Writer) error {
	text := &strings.Builder{}
	fmt.Fprintf(text, `# Kubernetes' conformance tests

Kubernetes certifies clusters by the conformance tests of its end-to-end suite. `+"`make conformance-kubernetes`"+` builds the suite
of Kubernetes %s, runs every test that needs no container against a gateway with an embedded etcd, beside Kubernetes' kube-controller-manager and kube-scheduler and the nodes
of KWOK, and rewrites this document. revtail is no cluster: nothing starts containers or routes packets, so many tests do not apply.

**%d of %d pass.** %d fail, and %d are not run.

| area | tests | pass | fail | not run |
|---|--:|--:|--:|--:|
`, o.version, len(o.passed), len(o.names), len(o.failed), len(o.reasons))
	o.writeAreas(text)
	writeReasons(text, "Tests that fail", "`selection.go` has the list.", o.failed)
	writeReasons(text, "Tests that are not run", "`selection.go` has the list.", o.reasons)
	text.WriteString("\n## Tests that pass\n\n")
	writeNames(text, o.passed)
	_, err := io.WriteString(w, text.String())
	return err
}

// writeAreas writes a row for each special interest group of Kubernetes, by which the suite names its tests.
func (o outcome) writeAreas(text *strings.Builder) {
	counts := map[string]*[4]int{}
	for _, name := range o.names {
		area := strings.TrimPrefix(name[:strings.Index(name, "]")], "[sig-")
		if counts[area] == nil {
			counts[area] = &[4]int{}
		}
		counts[area][0]++
		counts[area][o.column(name)]++
	}
	for _, area := range slices.Sorted(maps.Keys(counts)) {
		n := counts[area]
		fmt.Fprintf(text, "| %s | %d | %d | %d | %d |\n", area, n[0], n[1], n[2], n[3])
	}
}

// column returns the column of a test's outcome.
func (o outcome) column(name string) int {
	if _, failed := o.failed[name]; failed {
		return 2
	}
	if _, leftOut := o.reasons[name]; leftOut {
		return 3
	}
	return 1
}

// writeReasons writes a section with the tests below each reason, the reasons of most tests first.
func writeReasons(text *strings.Builder, title, about string, reasons map[string]string) {
	if len(reasons) == 0 {
		return
	}
	byReason := map[string][]string{}
	for name, reason := range reasons {
		byReason[reason] = append(byReason[reason], name)
	}
	sorted := slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		if n := len(byReason[b]) - len(byReason[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	fmt.Fprintf(text, "\n## %s\n\n%s\n", title, about)
	for _, reason := range sorted {
		fmt.Fprintf(text, "\n%s (%d):\n\n", reason, len(byReason[reason]))
		writeNames(text, byReason[reason])
	}
}

func writeNames(text *strings.Builder, names []string) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		fmt.Fprintf(text, "- `%s`\n", strings.ReplaceAll(strings.ReplaceAll(name, " [Conformance]", ""), "`", "'"))
	}
}
