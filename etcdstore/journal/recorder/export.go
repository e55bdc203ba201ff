package recorder

import (
	"context"
	"io"

	"revtail/etcdstore/journal"
)

// Export writes all that the journal has at this moment, while the recorder goes on. See journal.Journal.Export. The error is journal.ErrNotOpen if there
// is no journal yet.
func (r *Recorder) Export(ctx context.Context, w io.Writer) (journal.Summary, error) {
	if !r.opened.Load() {
		return journal.Summary{}, journal.ErrNotOpen
	}
	return r.journal.Export(ctx, w, nil)
}
