package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/etcdstore/journal"
)

// Journal is a collector of what a journal has, by the prefix of its keys.
type Journal struct {
	recorder                                   *journal.Recorder
	size, oldest, began, through, missing, lag *prometheus.Desc
}

// NewJournal returns the collector of the journal of a recorder.
func NewJournal(r *journal.Recorder) *Journal {
	byPrefix := []string{"prefix"}
	return &Journal{
		recorder: r,
		size:     prometheus.NewDesc("revtail_journal_size_bytes", "Bytes of the journal of --history-dir on the disk.", nil, nil),
		oldest:   prometheus.NewDesc("revtail_journal_oldest_revision", "The oldest revision that the journal has, by the prefix of the keys.", byPrefix, nil),
		began:    prometheus.NewDesc("revtail_journal_oldest_timestamp_seconds", "The time from which the journal has all events but those in gaps, by the prefix of the keys.", byPrefix, nil),
		through:  prometheus.NewDesc("revtail_journal_newest_revision", "The revision through which all events are in the journal, by the prefix of the keys.", byPrefix, nil),
		missing:  prometheus.NewDesc("revtail_journal_gaps", "How many parts of the history etcd had compacted before they came into the journal, by the prefix of the keys.", byPrefix, nil),
		lag:      prometheus.NewDesc("revtail_journal_lag_seconds", "For how long events have waited to be written into the journal, by the prefix of the keys; 0: none waits.", byPrefix, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *Journal) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.size, c.oldest, c.began, c.through, c.missing, c.lag} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *Journal) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	j := c.recorder.Journal()
	if j == nil {
		return
	}
	gauge(c.size, float64(j.Size()))
	for _, r := range j.Ranges() {
		if r.Former || r.Ended {
			continue
		}
		if whole, ok := c.recorder.RangeOf(r.Prefix); ok {
			r = whole
		}
		gauge(c.oldest, float64(r.Oldest), r.Prefix)
		gauge(c.through, float64(r.Through), r.Prefix)
		gauge(c.missing, float64(len(r.Gaps)), r.Prefix)
		if _, began, ok, err := c.recorder.Oldest(r.Prefix); ok && err == nil && !began.IsZero() {
			gauge(c.began, float64(began.UnixMilli())/1000, r.Prefix)
		}
	}
	for prefix, lag := range c.recorder.Lag() {
		gauge(c.lag, lag.Seconds(), prefix)
	}
}
