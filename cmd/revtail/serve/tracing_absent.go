//go:build nootlp

package serve

import "context"

// openTracing does nothing: this program cannot send traces, and config refuses --otlp-endpoint.
func (p *process) openTracing(context.Context) error { return nil }
