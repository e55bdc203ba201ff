package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"revtail/gateway/gatewaytest/plot"
)

// document is the comparison as Markdown, with plots beside it.
type document struct {
	report   *report
	versions string
	rows     []comparison
	replica  []comparison // of a cluster, with its kube-apiserver
	curves   []grown
}

const documentHead = `# Beside kube-apiserver

` + "`make bench-kubernetes`" + ` measures revtail, a kube-apiserver and a null server on the same work, in one run, and rewrites this document.

- %s. %s.
- %s; the servers, etcd and their clients share it, over loopback.
- Medians of %s, and in brackets the least and the greatest value; memory: one round.
- Each server has an etcd of its own, and objects of 1 KiB as it stores them itself: revtail in JSON, kube-apiserver in protobuf. While a server is measured, the
  processes of the others are stopped.
- **CPU** is the processor time of the server's process; that of its etcd counts only where a line says so.
- **null** is the least that a server can do: it sends prepared bytes, without looking at the request; for writes it is a put to etcd.
- Every round checks what the clients get: each event once and in order, lists that are complete, writes that are stored.

revtail has to cost no more than half of a kube-apiserver, and 1.5 times null. The last two columns are its ratios to them, of costs: below 1 revtail is
better. [A limit that it misses](#limits-that-are-missed) has a reason.

`

// markdown returns the document.
func (d *document) markdown() []byte {
	var b bytes.Buffer
	rounds := fmt.Sprintf("%d rounds", d.report.Rounds)
	if d.report.Quick {
		rounds = "one round of a **quick run, which only finds what is broken**"
	}
	fmt.Fprintf(&b, documentHead, d.versions, d.report.Date.Format(time.DateOnly), d.report.Machine, rounds)
	fmt.Fprintln(&b, "| | revtail | kube-apiserver | null | × kube-apiserver | × null |\n|---|--:|--:|--:|--:|--:|")
	title := ""
	for _, c := range d.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.line(&title), c.own, c.kubernetes, c.null,
			ratio(c.ofKubernetes, mostOfKubernetes), ratio(c.ofNull, mostOfNull))
	}
	if len(d.replica) > 0 {
		d.replicaTable(&b)
	}
	fmt.Fprint(&b, "\n## Limits that are missed\n\n")
	d.reasons(&b)
	fmt.Fprint(&b, "\n## Growth\n")
	for _, g := range d.curves {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n\n%s", g.caption, g.name, g.table())
	}
	return b.Bytes()
}

const replicaHead = `
## The replica of a cluster

` + "`revtail serve --cluster --kube-apiserver`" + ` and the kube-apiserver read one etcd, which has objects in protobuf. Both run all the time, and only the one that is
measured has watchers. Clients have tokens; revtail asks the kube-apiserver about them and about their rights. Where the watchers are at the server of the
column, the difference of the columns is what the kube-apiserver saves when its watchers move to revtail. Pods have 2 to 4 KB in etcd. The limit is half of
a kube-apiserver here too.

`

// replicaTable writes the section about the replica of a cluster.
func (d *document) replicaTable(b *bytes.Buffer) {
	b.WriteString(replicaHead)
	fmt.Fprintln(b, "| | revtail | kube-apiserver | × kube-apiserver |\n|---|--:|--:|--:|")
	title := ""
	for _, c := range d.replica {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", c.line(&title), c.own, c.kubernetes, ratio(c.ofKubernetes, mostOfKubernetes))
	}
}

// line is the first cell of a line: with the title of the row, unless the line before has it.
func (c comparison) line(title *string) string {
	if c.title == *title {
		return fmt.Sprintf("… %s, %s", c.what, c.unit)
	}
	*title = c.title
	return fmt.Sprintf("**%s**: %s, %s", c.title, c.what, c.unit)
}

// misses returns the limits that are missed.
func (d *document) misses() []miss {
	var all []miss
	for _, c := range slices.Concat(d.rows, d.replica) {
		all = append(all, c.misses()...)
	}
	return all
}

// reasons lists the limits that are missed.
func (d *document) reasons(w io.Writer) {
	all := d.misses()
	if len(all) == 0 {
		_, _ = fmt.Fprintln(w, "None.") // a buffer has no error
	}
	for _, m := range all {
		_, _ = fmt.Fprintf(w, "- %s. %s\n", m.what, cmp.Or(m.reason, "**No reason is known.**"))
	}
}

// unexplained returns an error for each missed limit without a reason.
func (d *document) unexplained() []error {
	var errs []error
	for _, m := range d.misses() {
		if m.reason == "" {
			errs = append(errs, fmt.Errorf("%s: the row has no reason for that", m.what))
		}
	}
	return errs
}

// write writes the document and its plots to a folder, and the document to stdout.
func (d *document) write(folder string, stdout io.Writer) error {
	text := d.markdown()
	if _, err := stdout.Write(text); err != nil {
		return err
	}
	for _, g := range d.curves {
		if err := os.WriteFile(filepath.Join(folder, g.name+".svg"), plot.Draw([]plot.Panel{g.panel()}), 0o644); err != nil { //nolint:gosec // a public file
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "KUBERNETES.md"), text, 0o644) //nolint:gosec // a public file
}

// String formats a spread; one value has none.
func (s spread) String() string {
	switch {
	case math.IsNaN(s.median):
		return "–"
	case s.least == s.most:
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.median), number(s.least), number(s.most))
}

// ratio formats a ratio with a mark when it is over its limit.
func ratio(value, limit float64) string {
	switch {
	case math.IsNaN(value):
		return "–"
	case value > limit:
		return number(value) + " ✗"
	}
	return number(value)
}
