package watch

import (
	"context"
	"time"

	"revtail/gateway/watchcache"
)

// bookmarkInterval is the context of one interval between two bookmarks. The goroutine owns it and not the session, because a session may
// move to an event loop at any time.
type bookmarkInterval struct {
	parent context.Context //nolint:containedctx // the parent of every ctx
	ctx    context.Context //nolint:containedctx // nil: no interval has begun
	cancel context.CancelFunc
}

// begin starts an interval that ends at a time, or with ctx. At its end begin notifies bell. The caller calls end.
func (b *bookmarkInterval) begin(ctx context.Context, until time.Time, bell chan<- struct{}) {
	ctx, cancel := context.WithDeadline(ctx, until)
	silence := context.AfterFunc(ctx, func() { watchcache.Notify(bell) })
	b.ctx, b.cancel = ctx, func() { silence(); cancel() }
}

// end frees the timer of the interval, if one has begun, without a notification.
func (b *bookmarkInterval) end() {
	if b.ctx != nil {
		b.cancel()
		b.ctx, b.cancel = nil, nil
	}
}
