package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/etcdstore/journal/recorder"
)

// Journal is a collector of what a journal has, by the prefix of its keys.
type Journal struct {
	recorder *recorder.Recorder

	size, maxSize, retention, free            *prometheus.Desc
	oldest, began, through, missing           *prometheus.Desc
	lag, recording, eventsTotal, writtenBytes *prometheus.Desc
}

// NewJournal returns the collector of the journal of a recorder.
func NewJournal(r *recorder.Recorder) *Journal {
	byPrefix := []string{"prefix"}
	return &Journal{
		recorder:     r,
		size:         prometheus.NewDesc("revtail_journal_size_bytes", "Bytes of the journal of --history-dir on the disk.", nil, nil),
		maxSize:      prometheus.NewDesc("revtail_journal_max_size_bytes", "The bound of --history-max-size; 0: there is none.", nil, nil),
		retention:    prometheus.NewDesc("revtail_journal_retention_seconds", "The bound of --history-retention; 0: there is none.", nil, nil),
		free:         prometheus.NewDesc("revtail_journal_disk_free_bytes", "Bytes that the disk of the journal has free. Below 256 MiB nothing is recorded.", nil, nil),
		oldest:       prometheus.NewDesc("revtail_journal_oldest_revision", "The oldest revision that the journal has, by the prefix of the keys.", byPrefix, nil),
		began:        prometheus.NewDesc("revtail_journal_oldest_timestamp_seconds", "The time from which the journal has all events but those in gaps, by the prefix of the keys.", byPrefix, nil),
		through:      prometheus.NewDesc("revtail_journal_newest_revision", "The revision through which all events are in the journal, by the prefix of the keys.", byPrefix, nil),
		missing:      prometheus.NewDesc("revtail_journal_gaps", "How many parts of the history etcd had compacted before they came into the journal, by the prefix of the keys.", byPrefix, nil),
		lag:          prometheus.NewDesc("revtail_journal_lag_seconds", "For how long events have waited to be written into the journal, by the prefix of the keys; 0: none waits.", byPrefix, nil),
		recording:    prometheus.NewDesc("revtail_journal_recording", "Whether the events of etcd are followed, by the prefix of the keys.", byPrefix, nil),
		eventsTotal:  prometheus.NewDesc("revtail_journal_events_total", "Events that were written into the journal, by the prefix of the keys.", byPrefix, nil),
		writtenBytes: prometheus.NewDesc("revtail_journal_written_bytes_total", "Bytes of these events as differences to the states before, without compression, by the prefix of the keys.", byPrefix, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *Journal) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		c.size, c.maxSize, c.retention, c.free, c.oldest, c.began, c.through, c.missing, c.lag, c.recording, c.eventsTotal, c.writtenBytes,
	} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *Journal) Collect(out chan<- prometheus.Metric) {
	value := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
	gauge := func(desc *prometheus.Desc, is float64, labels ...string) {
		value(desc, prometheus.GaugeValue, is, labels...)
	}
	j := c.recorder.Journal()
	if j == nil {
		return
	}
	bounds := c.recorder.Bounds()
	gauge(c.size, float64(j.Size()))
	gauge(c.maxSize, float64(bounds.Size))
	gauge(c.retention, bounds.Age.Seconds())
	if free, ok := j.Free(); ok {
		gauge(c.free, float64(free))
	}
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
		_, began, ok, err := c.recorder.Oldest(r.Prefix)
		if len(r.Except) > 0 { // not all keys with the prefix are recorded
			began, err = j.Began(r)
			ok = true
		}
		if ok && err == nil && !began.IsZero() {
			gauge(c.began, float64(began.UnixMilli())/1000, r.Prefix)
		}
	}
	for _, s := range c.recorder.Statuses() {
		gauge(c.lag, s.Lag.Seconds(), s.Prefix)
		recording := 0.0
		if s.Recording {
			recording = 1
		}
		gauge(c.recording, recording, s.Prefix)
		value(c.eventsTotal, prometheus.CounterValue, float64(s.Events), s.Prefix)
		value(c.writtenBytes, prometheus.CounterValue, float64(s.Bytes), s.Prefix)
	}
}
