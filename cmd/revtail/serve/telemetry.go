package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"

	"revtail/cmd/revtail/serve/logging"
	"revtail/cmd/revtail/serve/webserver"
	"revtail/gateway/access/audit"
	"revtail/gateway/config"
	"revtail/gateway/metrics"
)

const (
	// tracesPath is the path of OTLP over HTTP.
	tracesPath = "/v1/traces"
	// traceFlushTimeout bounds the time to send the last traces at the end of the process.
	traceFlushTimeout = 3 * time.Second
	// maxAttributeLength bounds the attributes of a span, because clients choose the length of paths.
	maxAttributeLength = 1024
	// traceErrorInterval is the minimum time between two log lines about the collector, because exports are retried every few seconds.
	traceErrorInterval = time.Minute
)

// openTracing makes the exporter for --otlp-endpoint, if it is set. It does not wait for the collector. closeTracing sends the last
// traces.
func (p *process) openTracing(ctx context.Context) error {
	if p.cfg.OTLPEndpoint == "" {
		return nil
	}
	var exporter sdktrace.SpanExporter
	var err error
	if p.cfg.OTLPProtocol == config.OTLPHTTP {
		exporter, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(tracesURL(p.cfg.OTLPEndpoint)))
	} else {
		exporter, err = otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(p.cfg.OTLPEndpoint))
	}
	if err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	limiter := rate.NewLimiter(rate.Every(traceErrorInterval), 1)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if limiter.Allow() {
			p.logger.Warn("traces are not sent, and dropped", "error", err)
		}
	}))
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxAttributeLength
	p.tracing = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(p.traceResource()), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(p.cfg.TraceSampling))))
	p.tracer = p.tracing
	return nil
}

// tracesURL adds tracesPath to the URL of a collector, as for OTEL_EXPORTER_OTLP_ENDPOINT. It keeps a URL that has the path, as for
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
func tracesURL(endpoint string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	if strings.HasSuffix(endpoint, tracesPath) {
		return endpoint
	}
	return endpoint + tracesPath
}

// traceResource describes this process. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it.
func (p *process) traceResource() *resource.Resource {
	host, _ := os.Hostname() // empty without a host name
	own := resource.NewSchemaless(attribute.String("service.name", "revtail"), attribute.String("service.version", p.version),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))
	merged, err := resource.Merge(own, resource.Environment())
	if err != nil {
		return own
	}
	return merged
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
