package admission

import (
	"context"
	"sync"

	"k8s.io/apiserver/pkg/warning"

	"revtail/gateway/api/kinds"
)

// Client gets what plugins have to say about a write besides their decision. Its methods may be called at the same time.
type Client interface {
	Warn(text string)
	// Annotate adds an annotation to the record of the request in the audit log.
	Annotate(key, value string)
}

type clientKey struct{}

// WithClient returns the context of a client's request. Only writes with such a context are reviewed: what the gateway does itself is not.
func (c *Chain) WithClient(ctx context.Context, client Client) context.Context {
	if c == nil {
		return ctx
	}
	ctx = kinds.WithAuthor(context.WithValue(ctx, clientKey{}, client), author{c})
	return warning.WithWarningRecorder(ctx, &recorder{client: client})
}

func clientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}

// recorder gives each warning to a client once, however often a write is tried.
type recorder struct {
	client Client
	mu     sync.Mutex
	given  map[string]bool
}

// AddWarning implements warning.Recorder.
func (r *recorder) AddWarning(_, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == "" || r.given[text] {
		return
	}
	if r.given == nil {
		r.given = make(map[string]bool)
	}
	r.given[text] = true
	r.client.Warn(text)
}
