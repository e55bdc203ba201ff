package journal

import (
	"context"
	"errors"
	"io"
)

// Errors of exports.
var (
	ErrNotOpen   = errors.New("the journal is not open")
	ErrExporting = errors.New("another export of the journal is not at its end")
)

// Export writes all that the journal has at this moment, one line a state or event. Import makes an equal journal of it. What is written or pruned
// meanwhile is not in it. One export runs at a time, because it holds some values in memory: the error is ErrExporting for another one, ErrNotOpen if the
// journal is closed, or one of the context, the writer or the database. It ends when the journal is closed.
func (j *Journal) Export(ctx context.Context, w io.Writer, progress Progress) (Summary, error) {
	if !j.exporting.TryLock() {
		return Summary{}, ErrExporting
	}
	defer j.exporting.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(j.open, cancel)()
	if j.open.Err() != nil {
		return Summary{}, ErrNotOpen
	}
	now, err := j.snapshot()
	if err != nil {
		return Summary{}, err
	}
	sum, err := now.export(ctx, w, progress)
	return sum, errors.Join(err, now.reads.Close())
}

// snapshot returns the journal as of this moment, to be read only. The caller closes its reads.
func (j *Journal) snapshot() (*Journal, error) {
	out := &Journal{dir: j.dir, db: j.db, reads: j.db.NewSnapshot(), logger: j.logger, ranges: make(map[uint32]Range)}
	out.remainders.Store(newRemainders())
	if err := out.loadRanges(); err != nil {
		return nil, errors.Join(err, out.reads.Close())
	}
	return out, nil
}
