package soak

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"revtail/gateway/gatewaytest/plot"
)

// String formats a sample for a line of progress.
func (s sample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1f min", s.at.Minutes())
	for i, r := range s.replicas {
		fmt.Fprintf(&b, "  replica %d: %.1f MiB, %.0f descriptors, %.0f goroutines, p99 of delivery %.1f ms, of lists %.1f ms;", i, r[0], r[1], r[2], r[3], r[4])
	}
	fmt.Fprintf(&b, "  %d events", s.events)
	return b.String()
}

// save writes the samples to the files soak.csv and soak.svg in a folder.
func save(folder string, samples []sample) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for all users
		return err
	}
	var table strings.Builder
	if err := writeCSV(&table, samples); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "soak.csv"), []byte(table.String()), 0o644); err != nil { //nolint:gosec // a public file
		return err
	}
	return os.WriteFile(filepath.Join(folder, "soak.svg"), plot.Draw(panels(samples)), 0o644) //nolint:gosec // a public file
}

// writeCSV writes a line for each replica and sample.
func writeCSV(w io.Writer, samples []sample) error {
	out := csv.NewWriter(w)
	header := []string{"minute", "replica"}
	for _, m := range metrics {
		header = append(header, m.column)
	}
	_ = out.Write(header) // Error has it
	for _, s := range samples {
		for replica, values := range s.replicas {
			line := []string{fmt.Sprintf("%.2f", s.at.Minutes()), strconv.Itoa(replica)}
			for _, v := range values {
				line = append(line, fmt.Sprintf("%.2f", v))
			}
			_ = out.Write(line)
		}
	}
	out.Flush()
	return out.Error()
}

// panels returns a plot of each metric, with a line for each replica.
func panels(samples []sample) []plot.Panel {
	all := make([]plot.Panel, 0, len(metrics))
	for i, m := range metrics {
		p := plot.Panel{Title: strings.TrimSpace(m.name+" "+m.unit) + ", by the minute", Linear: true}
		for replica := range samples[0].replicas {
			line := plot.Series{Name: fmt.Sprint("replica ", replica)}
			for _, s := range samples {
				line.Points = append(line.Points, [2]float64{s.at.Minutes(), s.replicas[replica][i]})
			}
			p.Series = append(p.Series, line)
		}
		all = append(all, p)
	}
	return all
}

// writeFindings writes a line for each series.
func writeFindings(w io.Writer, findings []finding) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		_, _ = fmt.Fprintln(out, f) // Flush has the error
	}
	return out.Flush()
}
