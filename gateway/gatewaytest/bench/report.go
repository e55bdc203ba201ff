package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the result of a run, as it is stored in JSON.
type report struct {
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
	Machine string    `json:"machine"`
	Rounds  int       `json:"rounds"`
	Quick   bool      `json:"quick,omitempty"`
	Lines   []line    `json:"lines"`
	// Samples are the single rounds: by row, contender and metric.
	Samples map[string]map[string][]sample `json:"samples"`
}

// line is a figure with its values: medians of the rounds.
type line struct {
	Row    string   `json:"row"`
	What   string   `json:"what"`
	Unit   string   `json:"unit"`
	Goal   string   `json:"goal,omitempty"`
	Figure *float64 `json:"figure"` // null: not measured
	Peer   string   `json:"peer,omitempty"`
	Other  *float64 `json:"peerFigure,omitempty"`
	Ratio  *float64 `json:"ratio,omitempty"`
	Met    *bool    `json:"met,omitempty"` // null: there is no goal
	Why    string   `json:"why,omitempty"` // the reason, if it was not measured or the check failed
	failed bool
}

// lines returns the lines of a row: the product's figures beside those of its peers.
func (r result) lines(product string) []line {
	lines := make([]line, 0, len(r.row.figures))
	for _, f := range r.row.figures {
		l := line{Row: r.row.name, What: f.what, Unit: f.unit, Goal: f.goal.String(), Peer: f.peer}
		if r.err != nil {
			l.Why, l.failed = firstLine(r.err.Error()), r.failed()
			l.Met = new(bool)
			lines = append(lines, l)
			continue
		}
		value, peer := r.median(product, f.metric), r.median(f.peer, f.metric)
		l.Figure, l.Other, l.Ratio = known(value), known(peer), known(value/peer)
		if f.goal.set() {
			met := f.goal.holds(value, peer)
			l.Met = &met
		}
		lines = append(lines, l)
	}
	return lines
}

// firstLine returns the part of a reason that fits into a table.
func firstLine(why string) string {
	const most = 200
	why, _, _ = strings.Cut(why, "\n")
	return why[:min(most, len(why))]
}

// known returns nil for NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// mark returns the last column.
func (l line) mark() string {
	switch {
	case l.Why != "":
		return "✗ " + l.Why
	case l.Met == nil:
		return ""
	case *l.Met:
		return "✓"
	default:
		return "✗"
	}
}

// text formats a value with its unit; empty: no value.
func (l line) text(v *float64) string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(number(*v) + " " + l.Unit)
}

// newReport returns a report with the product, the date and the machine.
func newReport(ctx context.Context, s *stage) *report {
	return &report{Commit: commit(ctx), Date: time.Now().UTC().Truncate(time.Second), Machine: machine(), Rounds: s.rounds,
		Samples: map[string]map[string][]sample{}}
}

// add adds a row.
func (r *report) add(res result, product string) {
	r.Lines = append(r.Lines, res.lines(product)...)
	r.Samples[res.row.name] = res.samples
}

// failed reports whether a check failed. A missed goal is not a failure.
func (r *report) failed() bool {
	for _, l := range r.Lines {
		if l.failed {
			return true
		}
	}
	return false
}

// table prints the report as a table.
func (r *report) table(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintf(out, "revtail %s, %s, %s\n", r.Commit, r.Date.Format(time.RFC3339), r.Machine) // Flush has the error
	_, _ = fmt.Fprintln(out, "| what\t| goal\t| figure\t| peer\t| its figure\t| ratio\t|\t|")
	_, _ = fmt.Fprintln(out, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	met, goals := 0, 0
	for _, l := range r.Lines {
		ratio := ""
		if l.Ratio != nil {
			ratio = fmt.Sprintf("%.2f", *l.Ratio)
		}
		_, _ = fmt.Fprintf(out, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", l.What, l.Goal, l.text(l.Figure), l.Peer, l.text(l.Other), ratio, l.mark())
		if l.Met != nil {
			goals++
			if *l.Met {
				met++
			}
		}
	}
	_, _ = fmt.Fprintf(out, "%d of %d goals met; medians of %d rounds, or more where they are short\n", met, goals, r.Rounds)
	return out.Flush()
}

// save writes the report as JSON.
func (r *report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // a public file
}

// commit returns the commit of the working tree, with -dirty if files differ from it.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine describes the machine of the run.
func machine() string {
	model := "processors"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(l, "model name"); ok {
				model = strings.TrimLeft(strings.TrimSpace(name), ": \t")
				break
			}
		}
	}
	kernel := runtime.GOOS
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel += " " + strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%d × %s, %s, %s", runtime.NumCPU(), model, kernel, runtime.Version())
}
