package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"revtail/gateway/config"
)

const (
	// tracesPath is OTLP's, over HTTP.
	tracesPath = "/v1/traces"
	// flushTime is how long the end of the process waits for a collector.
	flushTime = 3 * time.Second
	// maxAttribute bounds what a client can make a span hold, in bytes: paths are as long as it likes.
	maxAttribute = 1024
	// complainEvery is how often at most a collector that takes nothing is complained about: it is tried every few seconds.
	complainEvery = time.Minute
)

// openTracing prepares the way to the collector of --otlp-endpoint, if there is to be one. It does not wait for it. closeTracing
// sends what is left.
func (p *process) openTracing(ctx context.Context) error {
	if p.cfg.OTLPEndpoint == "" {
		return nil
	}
	exporter, err := newExporter(ctx, p.cfg)
	if err != nil {
		return fmt.Errorf("--otlp-endpoint: %w", err)
	}
	otel.SetErrorHandler(complaints(p.logger))
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxAttribute
	p.tracing = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(traced()), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(p.cfg.TraceSampling))))
	return nil
}

func newExporter(ctx context.Context, cfg config.Config) (sdktrace.SpanExporter, error) {
	if cfg.OTLPProtocol == config.OTLPHTTP {
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(tracesURL(cfg.OTLPEndpoint)))
	}
	return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(cfg.OTLPEndpoint))
}

// tracesURL is where a collector takes traces over HTTP: below its URL, as with OTEL_EXPORTER_OTLP_ENDPOINT, unless that says so
// already, as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT does.
func tracesURL(endpoint string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	if strings.HasSuffix(endpoint, tracesPath) {
		return endpoint
	}
	return endpoint + tracesPath
}

// traced says what the traces are of; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES in the environment say it better.
func traced() *resource.Resource {
	host, _ := os.Hostname() // empty is as good as nothing
	ours := resource.NewSchemaless(attribute.String("service.name", "revtail"), attribute.String("service.version", programVersion()),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))
	merged, err := resource.Merge(ours, resource.Environment())
	if err != nil {
		return ours
	}
	return merged
}

// tracer is nil, and not an interface that holds nil, when nothing is traced.
func (p *process) tracer() trace.TracerProvider {
	if p.tracing == nil {
		return nil
	}
	return p.tracing
}

func (p *process) closeTracing() {
	if p.tracing == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := p.tracing.Shutdown(ctx); err != nil {
		p.logger.Warn("the last traces were not sent", "error", err)
	}
}

// complaints logs what goes wrong on the way to the collector.
func complaints(logger *slog.Logger) otel.ErrorHandler {
	now := rate.NewLimiter(rate.Every(complainEvery), 1)
	return otel.ErrorHandlerFunc(func(err error) {
		if now.Allow() {
			logger.Warn("traces are not sent, and dropped", "error", err)
		}
	})
}
