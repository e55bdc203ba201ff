package etcdstore

import (
	"context"
	"log/slog"
	"time"
)

// RunCompactor runs the compactor on any store.
func RunCompactor(ctx context.Context, s Store, compact func(context.Context, Revision) error, history time.Duration) error {
	return (&compactor{store: s, permit: func(context.Context) error { return nil }, compact: compact, history: history, log: slog.New(slog.DiscardHandler), failed: func() {}}).run(ctx)
}

// BookkeepingKey is the key of the compactor's marks.
const BookkeepingKey = bookkeepingKey

// ClientLogger is the logger of etcd's client.
var ClientLogger = clientLogger
