package gateway

import (
	"context"
	"time"

	"revtail/gateway/watchcache"
)

// bookmarkInterval is the time until the next bookmark. It belongs to the goroutine, not to the watch: when that is adopted, somebody else has
// it at once.
type bookmarkInterval struct {
	parent context.Context //nolint:containedctx // of all terms
	ctx    context.Context //nolint:containedctx // nil: none has begun
	cancel context.CancelFunc
}

// begin begins a term. The bell is rung when it ends: at a time, or with ctx.
func (t *bookmarkInterval) begin(ctx context.Context, until time.Time, bell chan<- struct{}) {
	ctx, cancel := context.WithDeadline(ctx, until)
	silence := context.AfterFunc(ctx, func() { watchcache.Ring(bell) })
	t.ctx, t.cancel = ctx, func() { silence(); cancel() }
}

func (t *bookmarkInterval) end() {
	if t.ctx != nil {
		t.cancel()
		t.ctx, t.cancel = nil, nil
	}
}
