package abuse

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// writeTable writes a line for each attack.
func writeTable(w io.Writer, results []result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "attack\twhat the attacker did\tanswers\tprocessor\tmemory\tothers before: p99\tduring: p50\tp99\tmost\t")
	for _, r := range results {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%.1f s\t%+d MiB\t%s\t%s\t%s\t%s\t\n", r.name, r.did, r.answers, r.cpu.Seconds(), r.grown,
			short(r.before.percentile(99)), short(r.under.percentile(50)), short(r.under.percentile(99)), short(r.under.most()))
	}
	return table.Flush()
}

func short(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
