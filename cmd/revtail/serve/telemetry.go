package serve

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"revtail/cmd/revtail/serve/logging"
	"revtail/cmd/revtail/serve/webserver"
	"revtail/gateway/access/audit"
	"revtail/gateway/metrics"
)

// traceFlushTimeout bounds the time to send the last traces at the end of the process.
const traceFlushTimeout = 3 * time.Second

// traceExporter makes spans and sends them to a collector.
type traceExporter interface {
	trace.TracerProvider
	Shutdown(ctx context.Context) error // sends the last traces
}

func (p *process) closeTracing() {
	if p.tracing == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), traceFlushTimeout)
	defer cancel()
	if err := p.tracing.Shutdown(ctx); err != nil {
		p.logger.Warn("the last traces were not sent", "error", err)
	}
}

// metrics are the collectors of the process, in addition to those of the gateway.
func (p *process) metrics() []prometheus.Collector {
	all := []prometheus.Collector{p.limit.Refused, webserver.NewStrangerMetrics(p.strangers), p.requests, metrics.NewEtcd(p.monitor.Health, p.etcd.Store.Compactions, p.cfg.History), p.diskFull()}
	if p.encryption != nil {
		all = append(all, p.kms.collector())
	}
	if p.decryption != nil {
		all = append(all, p.decryption)
	}
	if p.kubeAPIServer != nil {
		all = append(all, p.kubeAPIServer.collectors()...)
	}
	if p.recorder != nil {
		all = append(all, metrics.NewJournal(p.recorder))
	}
	for _, f := range p.reloadables {
		all = append(all, f)
	}
	return all
}

// diskFull is the metric of the disk of the embedded etcd.
func (p *process) diskFull() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "revtail_etcd_disk_full", Help: "1 while the embedded etcd refuses writes, because its disk is read-only or has no room.",
	}, func() float64 {
		return float64(min(len(p.etcd.Problems()), 1))
	})
}

// problems are sentences about etcd, with which requests can still be served.
func (p *process) problems() []string {
	return slices.Concat(p.etcd.Problems(), p.monitor.Health().Problems())
}

// openAudit opens the audit log, if it is configured.
func (p *process) openAudit(stdout io.Writer) (err error) {
	level := audit.Level(p.cfg.AuditLevel)
	if p.cfg.AuditLogPath == "" || level == audit.None {
		return nil
	}
	if p.audit, err = logging.OpenAuditFile(p.cfg.AuditLogPath, stdout, p.logger); err == nil {
		p.auditLog, p.reloadables = audit.New(level, p.audit), append(p.reloadables, p.audit)
	}
	return err
}
