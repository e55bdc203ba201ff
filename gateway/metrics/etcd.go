package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/etcdstore/monitor"
)

// etcdCollector is the collector of NewEtcd.
type etcdCollector struct {
	health      func() monitor.Health
	compactions func() (done, failed uint64)
	history     time.Duration
}

// NewEtcd returns metrics of an etcd and of the compactions by this process, which each scrape reads. history is what the compactor keeps;
// zero: it does not compact.
func NewEtcd(health func() monitor.Health, compactions func() (done, failed uint64), history time.Duration) prometheus.Collector {
	return etcdCollector{health, compactions, history}
}

// alarmTypes have a metric without an alarm too.
var alarmTypes = []string{"NOSPACE", "CORRUPT"}

var (
	byEndpoint = []string{"endpoint"}

	memberUp    = prometheus.NewDesc("revtail_etcd_member_up", "1 when the endpoint of etcd told its state when it was asked last.", byEndpoint, nil)
	memberLeads = prometheus.NewDesc("revtail_etcd_member_leader", "1 while the member is the leader of its cluster.", byEndpoint, nil)
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
	for _, d := range []*prometheus.Desc{memberUp, memberLeads, memberSize, memberInUse, memberQuota, alarms, newest, compacted, changed, history, compactions, failures} {
		out <- d
	}
}

// Collect implements prometheus.Collector. It omits unknown values.
func (c etcdCollector) Collect(out chan<- prometheus.Metric) {
	health := c.health()
	done, failed := c.compactions()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	known := func(d *prometheus.Desc, value int64, labels ...string) {
		if value > 0 {
			gauge(d, float64(value), labels...)
		}
	}
	for _, m := range health.Members {
		if m.Err != nil {
			gauge(memberUp, 0, m.Endpoint)
			continue
		}
		gauge(memberUp, 1, m.Endpoint)
		gauge(memberLeads, map[bool]float64{true: 1}[m.Leader], m.Endpoint)
		known(memberSize, m.Size, m.Endpoint)
		known(memberInUse, m.InUse, m.Endpoint)
		known(memberQuota, m.Quota, m.Endpoint)
	}
	raised := make(map[string]int)
	for _, alarm := range health.Alarms {
		raised[alarm.Type]++
	}
	for _, kind := range alarmTypes {
		gauge(alarms, float64(raised[kind]), kind)
	}
	known(newest, int64(health.Newest))
	known(compacted, int64(health.Oldest))
	if !health.Grown.IsZero() {
		gauge(changed, float64(health.Grown.UnixMilli())/1000)
	}
	gauge(history, c.history.Seconds())
	out <- prometheus.MustNewConstMetric(compactions, prometheus.CounterValue, float64(done))
	out <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(failed))
}
