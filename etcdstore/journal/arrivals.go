package journal

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"revtail/etcdstore"
)

// Arrival is when an event arrived.
type Arrival struct {
	Revision etcdstore.Revision
	Time     time.Time // zero: unknown
}

// skipped is how many events of other keys Arrivals passes over at once.
const skipped = 1024

// Arrivals yields the events of the keys with a prefix, or of the key that equals it, that a range has from a revision through another one, without
// reading their states. An Arrival without a revision is no event: it comes between many events of other keys, so that the consumer can pause.
func (j *Journal) Arrivals(ctx context.Context, known Range, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[Arrival, error] {
	return func(yield func(Arrival, error) bool) {
		if from = max(from, known.Oldest+1); from > through {
			return
		}
		events := j.index(known.Number, from, through)
		if exact {
			reader, err := j.newReader(known.Number)
			if err != nil {
				yield(Arrival{}, err)
				return
			}
			defer reader.close()
			events = j.keyEvents(reader, prefix, from, through)
		}
		others := 0
		for e, err := range events {
			err = errors.Join(err, ctx.Err())
			arrival := Arrival{e.revision, e.arrived}
			if err == nil && !strings.HasPrefix(e.key, prefix) {
				if others++; others%skipped > 0 {
					continue
				}
				arrival = Arrival{}
			}
			if !yield(arrival, err) || err != nil {
				return
			}
		}
	}
}
