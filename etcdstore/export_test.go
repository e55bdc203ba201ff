package etcdstore

import (
	"context"
	"log/slog"
	"time"
)

// RunCompactor runs the compactor on any store.
func RunCompactor(ctx context.Context, s Store, compact func(context.Context, Revision) error, history time.Duration) error {
	return (&compactor{store: s, compact: compact, history: history, log: slog.New(slog.DiscardHandler)}).run(ctx)
}

// BookkeepingKey is where the compactor keeps its marks.
const BookkeepingKey = bookkeepingKey
