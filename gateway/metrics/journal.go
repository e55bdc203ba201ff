package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/etcdstore/journal"
)

// Journal is a collector of what a journal has, by the prefix of its keys.
type Journal struct {
	journal                        *journal.Journal
	size, oldest, through, missing *prometheus.Desc
}

// NewJournal returns the collector of a journal.
func NewJournal(j *journal.Journal) *Journal {
	byPrefix := []string{"prefix"}
	return &Journal{
		journal: j,
		size:    prometheus.NewDesc("revtail_journal_size_bytes", "Bytes of the journal of --history-dir on the disk.", nil, nil),
		oldest:  prometheus.NewDesc("revtail_journal_oldest_revision", "The oldest revision that the journal has, by the prefix of the keys.", byPrefix, nil),
		through: prometheus.NewDesc("revtail_journal_newest_revision", "The revision through which all events are in the journal, by the prefix of the keys.", byPrefix, nil),
		missing: prometheus.NewDesc("revtail_journal_gaps", "How many parts of the history etcd had compacted before they came into the journal, by the prefix of the keys.", byPrefix, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *Journal) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.size, c.oldest, c.through, c.missing} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *Journal) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(c.size, float64(c.journal.Size()))
	for _, r := range c.journal.Ranges() {
		if r.Former {
			continue
		}
		gauge(c.oldest, float64(r.Oldest), r.Prefix)
		gauge(c.through, float64(r.Through), r.Prefix)
		gauge(c.missing, float64(len(r.Gaps)), r.Prefix)
	}
}
