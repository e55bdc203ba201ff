package watch

import (
	"context"
	"time"

	"revtail/gateway/watchcache"
)

// bookmarkInterval is the context of the time until the next bookmark. The goroutine owns it, because a session may move to the event loop
// at any time.
type bookmarkInterval struct {
	parent context.Context //nolint:containedctx // of all intervals
	ctx    context.Context //nolint:containedctx // nil: none has begun
	cancel context.CancelFunc
}

// begin begins an interval. The bell is rung when it ends: at a time, or with ctx.
func (b *bookmarkInterval) begin(ctx context.Context, until time.Time, bell chan<- struct{}) {
	ctx, cancel := context.WithDeadline(ctx, until)
	silence := context.AfterFunc(ctx, func() { watchcache.Notify(bell) })
	b.ctx, b.cancel = ctx, func() { silence(); cancel() }
}

func (b *bookmarkInterval) end() {
	if b.ctx != nil {
		b.cancel()
		b.ctx, b.cancel = nil, nil
	}
}
