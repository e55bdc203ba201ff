package robustness

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// merge adds the figures of another part of a scenario.
func (f *Figures) merge(other Figures) {
	f.Events += other.Events
	f.Bookmarks += other.Bookmarks
	f.Lists += other.Lists
	f.Acknowledged += other.Acknowledged
	f.RefusedWrites += other.RefusedWrites
	f.Unknown += other.Unknown
	f.Resumes += other.Resumes
	f.Cuts += other.Cuts
	f.Relists += other.Relists
	f.Refusals += other.Refusals
	f.Cleans += other.Cleans
	f.Gaps = append(f.Gaps, other.Gaps...)
	f.Lags = append(f.Lags, other.Lags...)
	slices.Sort(f.Gaps)
	slices.Sort(f.Lags)
}

// WriteTable writes a line for each result.
func WriteTable(w io.Writer, results []Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "scenario\ttime\tevents\tlists\twrites\tunknown\tresumes\tcuts\trelists\tgap p50\tgap p99\tlag p99\tviolations\t")
	for _, r := range results {
		f := r.Figures
		_, _ = fmt.Fprintf(table, "%s\t%.0fs\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d\t\n", r.Name, r.Took.Seconds(), f.Events, f.Lists, f.Acknowledged, f.Unknown,
			f.Resumes, f.Cuts, f.Relists, short(percentile(f.Gaps, 50)), short(percentile(f.Gaps, 99)), short(percentile(f.Lags, 99)), len(r.Violations))
	}
	return table.Flush()
}

func short(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.Round(time.Millisecond).String()
}

// save writes the history of a failure to files: violations, and for each timeline the truth, the writes, and the events of each client.
func (r *Run) save(violations []Violation) string {
	folder := filepath.Join(r.ArtifactDir(), "history")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		r.Error(err)
		return ""
	}
	put := func(name string, lines ...any) {
		file, err := os.Create(filepath.Join(folder, name)) //nolint:gosec // below the test's own folder
		if err != nil {
			r.Error(err)
			return
		}
		encoder := json.NewEncoder(file)
		for _, line := range lines {
			if err := encoder.Encode(line); err != nil {
				r.Error(err)
			}
		}
		if err := file.Close(); err != nil {
			r.Error(err)
		}
	}
	put("violations.jsonl", boxed(violations)...)
	for i, h := range append(r.past, r.present) {
		put(fmt.Sprintf("%d-truth.jsonl", i), boxed(h.Truth.Changes())...)
		put(fmt.Sprintf("%d-writes.jsonl", i), boxed(h.Writes)...)
		put(fmt.Sprintf("%d-lists.jsonl", i), boxed(h.Lists)...)
		put(fmt.Sprintf("%d-watchers.jsonl", i), boxed(h.Watchers)...)
		put(fmt.Sprintf("%d-faults.json", i), map[string]any{"faults": h.Faults, "compactions": h.Compactions})
	}
	return folder
}

func boxed[T any](values []T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
