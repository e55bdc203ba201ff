package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// severity is the result of a check.
type severity string

const (
	ok      severity = "ok"
	warning severity = "warn"
	failed  severity = "FAIL"
	skipped severity = "skip"
)

// report writes the result of a check. hint says what to do; it may be empty.
func (d *doctor) report(s severity, check, result, hint string) {
	if s == failed {
		d.failures++
	}
	lines := fmt.Sprintf("%-4s  %-9s %s\n", s, check, result)
	if hint != "" {
		lines += fmt.Sprintf("%16s→ %s\n", "", hint)
	}
	_, _ = io.WriteString(d.out, strings.ToValidUTF8(lines, "�")) // the exit code reports failures too
}

// elapsed is the time since start, rounded for display.
func elapsed(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Microsecond) }

// formatBytes is a size in MiB or GiB.
func formatBytes(n int64) string {
	const mebi, gibi = 1 << 20, 1 << 30
	if n >= gibi {
		return fmt.Sprintf("%.1f GiB", float64(n)/gibi)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/mebi)
}
