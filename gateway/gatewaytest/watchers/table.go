package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// writeTable writes a line for each result.
func writeTable(w io.Writer, results []result) error {
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintln(out, "| watchers\t| objects\t| opened\t| CPU of it\t| before\t| idle\t| a watch\t| left\t| event, p50\t| worst\t| CPU a delivery\t| churning: p50\t| worst\t| CPU a delivery\t|") // Flush has the error
	_, _ = fmt.Fprintln(out, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range results {
		_, _ = fmt.Fprintf(out, "| %d\t| %d\t| %.0f/s\t| %.0f µs\t| %.0f MB\t| %.0f MB\t| %.2f KB\t| %.0f MB\t| %s\t| %s\t| %.2f µs\t| %s\t| %s\t| %.2f µs\t|\n",
			r.watchers, r.objects, float64(r.watchers)/r.opening.Seconds(), r.openingCPU.Seconds()*1e6/r.ofReplica(),
			megabytes(r.before), megabytes(r.idle), r.memory(), megabytes(r.left),
			text(r.still.p50), text(r.still.worst), r.perDelivery(r.still), text(r.churning.p50), text(r.churning.worst), r.perDelivery(r.churning))
	}
	return out.Flush()
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

func text(d time.Duration) string { return d.Round(time.Millisecond).String() }

// perDelivery returns the processor time of a gateway for one watcher of an event, in microseconds.
func (r result) perDelivery(d delivery) float64 { return d.cpu.Seconds() * 1e6 / r.ofReplica() }
