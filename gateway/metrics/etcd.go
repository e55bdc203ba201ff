package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Etcd is the status of an etcd, with the compactions of this process.
type Etcd struct {
	Members   []Member
	Alarms    map[string]int // the number of members with an alarm, by type
	Revision  int64          // the newest; zero: unknown
	Compacted int64          // the oldest that etcd has; zero: unknown
	Changed   time.Time      // when Compacted last changed; zero: it has not

	History            time.Duration // that the compactor of this process keeps; zero: it does not compact
	Compactions        uint64        // by this process
	CompactionFailures uint64
}

// Member is the status of a member of the cluster.
type Member struct {
	Endpoint           string
	Up                 bool // otherwise the sizes are unknown
	Size, InUse, Quota int64
}

// etcdCollector is the collector of an Etcd.
type etcdCollector struct{ etcd func() Etcd }

// NewEtcd returns metrics of the result of a function, which each scrape calls.
func NewEtcd(etcd func() Etcd) prometheus.Collector { return etcdCollector{etcd} }

// alarmTypes have a metric without an alarm too.
var alarmTypes = []string{"NOSPACE", "CORRUPT"}

var (
	byEndpoint = []string{"endpoint"}

	memberUp    = prometheus.NewDesc("revtail_etcd_member_up", "1 when the endpoint of etcd told its state when it was asked last.", byEndpoint, nil)
	memberSize  = prometheus.NewDesc("revtail_etcd_member_database_bytes", "Size of the member's database file, which its quota limits.", byEndpoint, nil)
	memberInUse = prometheus.NewDesc("revtail_etcd_member_database_in_use_bytes", "What of the member's database holds something; the rest is given back by defragmentation.", byEndpoint, nil)
	memberQuota = prometheus.NewDesc("revtail_etcd_member_quota_bytes", "Size of the database above which nothing can be written; etcd tells it since 3.6.", byEndpoint, nil)
	alarms      = prometheus.NewDesc("revtail_etcd_alarms", "Members of etcd that have raised the alarm: NOSPACE, nothing can be written; CORRUPT, their data differ.", []string{"type"}, nil)
	newest      = prometheus.NewDesc("revtail_etcd_revision", "Newest revision of etcd.", nil, nil)
	compacted   = prometheus.NewDesc("revtail_etcd_compacted_revision", "Oldest revision that etcd keeps: watches resume after it. Any program may have compacted etcd.", nil, nil)
	changed     = prometheus.NewDesc("revtail_etcd_compaction_timestamp_seconds", "When the oldest revision last changed. Any program may have compacted etcd.", nil, nil)
	history     = prometheus.NewDesc("revtail_compactor_history_seconds", "How much history this gateway keeps; zero: it compacts nothing.", nil, nil)
	compactions = prometheus.NewDesc("revtail_compactions_total", "Compactions that this gateway has made; of several one does it.", nil, nil)
	failures    = prometheus.NewDesc("revtail_compaction_failures_total", "How often this gateway has failed to mark a revision, or to compact.", nil, nil)
)

// Describe implements prometheus.Collector.
func (etcdCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{memberUp, memberSize, memberInUse, memberQuota, alarms, newest, compacted, changed, history, compactions, failures} {
		out <- d
	}
}

// Collect implements prometheus.Collector. It omits unknown values.
func (c etcdCollector) Collect(out chan<- prometheus.Metric) {
	e := c.etcd()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	known := func(d *prometheus.Desc, value int64, labels ...string) {
		if value > 0 {
			gauge(d, float64(value), labels...)
		}
	}
	for _, m := range e.Members {
		if !m.Up {
			gauge(memberUp, 0, m.Endpoint)
			continue
		}
		gauge(memberUp, 1, m.Endpoint)
		known(memberSize, m.Size, m.Endpoint)
		known(memberInUse, m.InUse, m.Endpoint)
		known(memberQuota, m.Quota, m.Endpoint)
	}
	for _, kind := range alarmTypes {
		gauge(alarms, float64(e.Alarms[kind]), kind)
	}
	known(newest, e.Revision)
	known(compacted, e.Compacted)
	if !e.Changed.IsZero() {
		gauge(changed, float64(e.Changed.UnixMilli())/1000)
	}
	gauge(history, e.History.Seconds())
	out <- prometheus.MustNewConstMetric(compactions, prometheus.CounterValue, float64(e.Compactions))
	out <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(e.CompactionFailures))
}
