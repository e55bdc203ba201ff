package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/metrics"
)

// metrics are those that the gateway has not by itself.
func (p *process) metrics() []prometheus.Collector {
	all := []prometheus.Collector{p.limit.refused, p.requests, metrics.NewEtcd(p.etcdFigures)}
	for _, f := range p.files() {
		all = append(all, f)
	}
	return all
}

// etcdFigures are what the monitor was told, and what the compactor has done.
func (p *process) etcdFigures() metrics.Etcd {
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

// problems are those of etcd that do not keep the gateway from serving.
func (p *process) problems() []string { return p.monitor.Health().Problems() }
