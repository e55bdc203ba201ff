package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
)

// runDiff measures the working tree and another commit in turns, and prints how the figures differ.
func runDiff(ctx context.Context, s *stage, o options, stdout io.Writer) error {
	before, err := s.buildCommit(ctx, o.diff)
	if err != nil {
		return err
	}
	after := s.products[0]
	s.products, s.withPeers = []subject{before, after}, false
	var results []result
	for _, row := range selected(rows(s.size), o.rows) {
		results = append(results, s.measure(ctx, row))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return writeDiff(stdout, results, before.name, after.name)
}

// buildCommit builds the product of a commit from an export below bin, which is kept for inspection.
func (s *stage) buildCommit(ctx context.Context, ref string) (subject, error) {
	dir := filepath.Join("bin", "bench-diff")
	if err := os.RemoveAll(dir); err != nil {
		return subject{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return subject{}, err
	}
	archive := filepath.Join(s.dir, "commit.tar")
	for _, command := range [][]string{{"git", "archive", "--output", archive, ref}, {"tar", "-xf", archive, "-C", dir}} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the caller's own commit
		if output, err := cmd.CombinedOutput(); err != nil {
			return subject{}, fmt.Errorf("%v: %w\n%s", cmd, err, output)
		}
	}
	binary, err := s.build(ctx, dir, "revtail-before")
	return subject{name: ref, binary: binary}, err
}

// writeDiff prints each figure before and after, and the change. Failed rows print the reason and make an error.
func writeDiff(w io.Writer, results []result, before, after string) error {
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintf(out, "| what\t| %s\t| %s\t| change\t|\n|---\t|---\t|---\t|---\t|\n", before, after) // Flush has the error
	var failed error
	for _, r := range results {
		printed := map[string]bool{}
		for i, f := range r.row.figures {
			if printed[f.metric] {
				continue // a line of another peer
			}
			printed[f.metric] = true
			if r.err != nil {
				if i == 0 {
					_, _ = fmt.Fprintf(out, "| %s\t| \t| \t| ✗ %s\t|\n", f.what, firstLine(r.err.Error()))
				}
				continue
			}
			old, now := r.median(before, f.metric), r.median(after, f.metric)
			_, _ = fmt.Fprintf(out, "| %s\t| %s %s\t| %s %s\t| %s\t|\n", f.what, number(old), f.unit, number(now), f.unit, change(old, now))
		}
		if r.failed() && failed == nil {
			failed = fmt.Errorf("%s: %w", r.row.name, r.err)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return failed
}

// change is a difference in per cent.
func change(old, now float64) string {
	if math.IsNaN(old) || math.IsNaN(now) || old == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f %%", (now/old-1)*100)
}
