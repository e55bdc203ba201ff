//go:build !nootlp

package serve

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"

	"revtail/gateway/config"
)

const (
	// tracesPath is the path of OTLP over HTTP.
	tracesPath = "/v1/traces"
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
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(p.traceResource()), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(p.cfg.TraceSampling))))
	p.tracing, p.tracer = provider, provider
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
	own := resource.NewSchemaless(attribute.String("service.name", "revtail"), attribute.String("service.version", p.build.Version),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))
	merged, err := resource.Merge(own, resource.Environment())
	if err != nil {
		return own
	}
	return merged
}
