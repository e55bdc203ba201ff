package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/metrics"
)

// metrics are the collectors of the process, in addition to those of the gateway.
func (p *process) metrics() []prometheus.Collector {
	all := []prometheus.Collector{p.limit.Collector(), p.requests, metrics.NewEtcd(p.etcdMetrics)}
	for _, f := range p.reloadables() {
		all = append(all, f)
	}
	return all
}

// etcdMetrics are the figures of the monitor and of the compactor.
func (p *process) etcdMetrics() metrics.Etcd {
	health := p.monitor.Health()
	out := metrics.Etcd{
		Alarms: make(map[string]int), Revision: int64(health.Newest), Compacted: int64(health.Oldest), Changed: health.Grown, History: p.cfg.History,
	}
	out.Compactions, out.CompactionFailures = p.etcd.Store.Compactions()
	for _, m := range health.Members {
		out.Members = append(out.Members, metrics.Member{Endpoint: m.Endpoint, Up: m.Err == nil, Size: m.Size, InUse: m.InUse, Quota: m.Quota})
	}
	for _, alarm := range health.Alarms {
		out.Alarms[alarm.Type]++
	}
	return out
}

// problems are problems of etcd that do not stop the gateway.
func (p *process) problems() []string { return p.monitor.Health().Problems() }
