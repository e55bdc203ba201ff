package doctor

import (
	"context"
	"fmt"
)

// longHistory is a number of revisions that etcd does not reach with regular compaction.
const longHistory = 5_000_000

func (d *doctor) checkHistory(ctx context.Context) {
	oldest, err := d.store.Oldest(ctx)
	if err != nil {
		d.report(skipped, "history", "cannot be asked for: "+err.Error(), "")
		return
	}
	summary := fmt.Sprintf("revisions %d to %d can be watched from", oldest, max(d.revision, oldest))
	if kept := d.revision - oldest; kept > longHistory {
		d.report(warning, "history", summary, "no program seems to compact: give one gateway's `serve` --history, or etcd --auto-compaction-retention")
		return
	}
	d.report(ok, "history", summary, "")
}
