package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"revtail/cmd/revtail/client"
)

const (
	// lagLimit is how long events may wait before a warning.
	lagLimit = 30 * time.Second
	// freeLimit is how much free disk is scarce: with less than 256 MiB the gateway records nothing.
	freeLimit = 1 << 30
	// fullShare is the part of the bound of its size from which a journal drops events that it would keep by their age.
	fullShare = 0.9
)

// checkJournal reports what the journal of a gateway has, from its metrics.
func (d *doctor) checkJournal(ctx context.Context, c *client.Client) {
	page, err := c.Page(ctx, "/metrics")
	if err != nil {
		d.report(skipped, "journal", fmt.Sprintf("the metrics cannot be read: %v", err), "")
		return
	}
	m := journalMetrics(page.Text)
	size, exists := m["size_bytes"]
	if !exists {
		d.report(ok, "journal", "none: the gateway records no history (--history-dir)", "")
		return
	}
	d.reportJournalDisk(size[""], m)
	for _, prefix := range slices.Sorted(maps.Keys(m["recording"])) {
		d.reportRecording(prefix, m["recording"][prefix] == 1, m)
	}
}

// reportJournalDisk reports the size of the journal, and the free space of its disk.
func (d *doctor) reportJournalDisk(size float64, m map[string]map[string]float64) {
	text := formatBytes(int64(size)) + " on the disk"
	bound, retention := m["max_size_bytes"][""], m["retention_seconds"][""]
	if bound > 0 {
		text += " of at most " + formatBytes(int64(bound))
	}
	free, known := m["disk_free_bytes"][""]
	if known {
		text += ", " + formatBytes(int64(free)) + " free"
	}
	switch oldest := age(m["oldest_timestamp_seconds"]); {
	case known && free < freeLimit:
		d.report(warning, "journal", text, "free space on the disk of --history-dir, or lower --history-max-size: with less than 256 MiB nothing is recorded")
	case bound > 0 && size > fullShare*bound && oldest.Seconds() < fullShare*retention:
		d.report(warning, "journal", text+": events are dropped before their age", "raise --history-max-size, or lower --history-retention")
	default:
		d.report(ok, "journal", text, "")
	}
}

// reportRecording reports what the journal has of a prefix.
func (d *doctor) reportRecording(prefix string, recording bool, m map[string]map[string]float64) {
	text := fmt.Sprintf("%s: revisions %.0f to %.0f", prefix, m["oldest_revision"][prefix], m["newest_revision"][prefix])
	if began := m["oldest_timestamp_seconds"][prefix]; began > 0 {
		text += ", since " + time.Unix(int64(began), 0).Format(time.DateTime)
	}
	lag := time.Duration(m["lag_seconds"][prefix] * float64(time.Second))
	switch gaps := m["gaps"][prefix]; {
	case !recording:
		d.report(warning, "journal", text+": nothing is recorded now", "check that the gateway reaches etcd, and that its disk has room: its log has the reason")
	case lag > lagLimit:
		d.report(warning, "journal", fmt.Sprintf("%s: events have waited for %v to be written", text, lag.Round(time.Second)), "check that the disk of --history-dir is neither full nor slow: what etcd compacts meanwhile is lost")
	case gaps > 0:
		d.report(warning, "journal", fmt.Sprintf("%s, with %.0f gaps: etcd was compacted while nothing was recorded", text, gaps),
			"keep more history in etcd (--history), or run two gateways with a journal; 'revtail history prune' removes what is before a gap")
	default:
		d.report(ok, "journal", text+", without gaps", "")
	}
}

// age returns the greatest age of some times.
func age(began map[string]float64) (oldest time.Duration) {
	for _, at := range began {
		oldest = max(oldest, time.Since(time.Unix(int64(at), 0)))
	}
	return oldest
}

// journalMetrics returns the metrics of the journal by name and prefix.
func journalMetrics(page string) map[string]map[string]float64 {
	out := make(map[string]map[string]float64)
	for text := range strings.Lines(page) {
		series, found := strings.CutPrefix(text, "revtail_journal_")
		end := strings.LastIndexByte(series, ' ')
		if !found || end < 0 {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(series[end:]), 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(series[:end], "{")
		prefix, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(labels, "prefix="), "}"))
		if err != nil {
			prefix = ""
		}
		if out[name] == nil {
			out[name] = make(map[string]float64)
		}
		out[name][prefix] = value
	}
	return out
}
