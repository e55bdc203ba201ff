package conformance

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
)

// outcome is the result of the trial of a statement.
type outcome string

const (
	passed     outcome = "passed"
	failed     outcome = "FAILED"
	notYetKept outcome = "not yet"
	notRun     outcome = "not run"
)

// verdict is an outcome and, unless it is passed, the reason.
type verdict struct {
	outcome outcome
	reason  string
}

// report collects the verdicts of a run.
type report struct {
	mu       sync.Mutex // guards the field below
	verdicts map[string]verdict
}

func (r *report) add(name string, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdicts[name] = v
}

// print writes the table: a line for each selected statement, and the number that passed.
func (r *report) print(w io.Writer, title string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "\n%s\n\nGROUP\tSTATEMENT\tOUTCOME\tREASON\n", title)
	counts := map[outcome]int{}
	for _, g := range groups {
		for _, s := range g.statements {
			v, tried := r.verdicts[g.name+"/"+s.promise]
			if !tried { // go test's -run has left it out
				continue
			}
			counts[v.outcome]++
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%.160s\n", g.name, s.promise, v.outcome, strings.Join(strings.Fields(v.reason), " "))
		}
	}
	_, _ = fmt.Fprintf(table, "\n%d of %d statements passed, %d failed, %d not yet, %d not run\n",
		counts[passed], len(r.verdicts), counts[failed], counts[notYetKept], counts[notRun])
	_ = table.Flush() // a failed write has no reader
}
