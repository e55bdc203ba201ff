//go:build nootlp

package buildinfo

// OTLP reports whether the program can send traces to an OpenTelemetry collector. The build tag nootlp has left that out.
const OTLP = false
