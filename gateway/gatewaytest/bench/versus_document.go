package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"revtail/gateway/gatewaytest/plot"
)

// document is the comparison as Markdown, with plots beside it.
type document struct {
	report   *report
	versions string
	rows     []comparison
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
		what := "… " + c.what
		if c.title != title {
			title, what = c.title, fmt.Sprintf("**%s**: %s", c.title, c.what)
		}
		fmt.Fprintf(&b, "| %s, %s | %s | %s | %s | %s | %s |\n", what, c.unit, c.own, c.kubernetes, c.null,
			ratio(c.ofKubernetes, mostOfKubernetes), ratio(c.ofNull, mostOfNull))
	}
	fmt.Fprint(&b, "\n## Limits that are missed\n\n")
	d.reasons(&b)
	fmt.Fprint(&b, "\n## Growth\n")
	for _, g := range d.curves {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n\n%s", g.caption, g.name, g.table())
	}
	return b.Bytes()
}

// misses returns the limits that are missed.
func (d *document) misses() []miss {
	var all []miss
	for _, c := range d.rows {
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
