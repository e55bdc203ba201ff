package changes

import (
	"context"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/http/response"
)

// countLine says how many changes arrived in an interval.
type countLine struct {
	Type     string             `json:"type"`
	Time     *time.Time         `json:"time,omitempty"` // of the begin; nil: it is not known when they arrived
	Changes  int                `json:"changes"`
	First    etcdstore.Revision `json:"first"` // of the changes
	Last     etcdstore.Revision `json:"last"`
	LastTime *time.Time         `json:"lastTime,omitempty"`
}

// count writes the numbers of the changes of a segment. It has one interval in memory: if the clock of the gateway was set back, an
// interval has several lines.
func (r *Reader) count(ctx context.Context, p *response.Body, s segment) error {
	if s.from > s.through {
		return nil
	}
	prefix, exact := r.keys()
	turn := r.Account.Turn()
	defer turn.End()
	var line countLine
	for a, err := range r.Source.Recorder.Arrivals(ctx, prefix, exact, s.from, s.through) {
		if err == nil {
			err = turn.Continue()
		}
		if err != nil {
			return err
		}
		if a.Revision == 0 {
			continue
		}
		begin := r.begin(a.Time)
		if line.Changes > 0 && a.Revision > line.Last && !equal(line.Time, begin) {
			if err := r.interval(p, line); err != nil {
				return err
			}
			line = countLine{}
		}
		if line.Changes == 0 && r.Options.Limit > 0 && r.written >= r.Options.Limit {
			r.next = a.Revision
			return nil
		}
		if line.Changes == 0 {
			line = countLine{Type: "COUNT", Time: begin, First: a.Revision}
		}
		line.Changes, line.Last = line.Changes+1, a.Revision
		if !a.Time.IsZero() {
			line.LastTime = utc(a.Time)
		}
	}
	if line.Changes == 0 {
		return nil
	}
	return r.interval(p, line)
}

// interval writes the line of an interval that has ended.
func (r *Reader) interval(p *response.Body, line countLine) error {
	r.written++
	appendLine(p, line)
	return p.FlushLarge()
}

// begin returns when the interval of a time begins; nil: the time is unknown.
func (r *Reader) begin(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return utc(at.UTC().Truncate(r.Options.Count))
}

func equal(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}
