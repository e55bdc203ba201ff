package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/gateway/access/cputime"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/changes"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache/filter"
)

// historyReader reads the recorded changes of the objects of a target.
type historyReader struct {
	handler *Handler
	target  catalog.Target
	options request.HistoryOptions
	filter  *filter.Filter // nil: all
	account *cputime.Account

	prefix       string
	recorded     journal.Range
	since, until etcdstore.Revision // inclusive

	written int                // changes
	last    etcdstore.Revision // of them
	next    etcdstore.Revision // the one after the last, if the limit ended the response
}

// change is a line of the response. See deploy/API.md.
type change struct {
	Type      string             `json:"type"`
	Revision  etcdstore.Revision `json:"revision"`
	Time      *time.Time         `json:"time,omitempty"`
	Namespace string             `json:"namespace,omitempty"`
	Name      string             `json:"name"`
	changes.Manager
	Fields   []string        `json:"fields"`
	Omitted  bool            `json:"omitted,omitempty"` // the value is not kept
	Object   json.RawMessage `json:"object,omitempty"`
	Previous json.RawMessage `json:"previous,omitempty"`
}

// gapLine says that the changes between two revisions are not known.
type gapLine struct {
	Type  string             `json:"type"`
	After etcdstore.Revision `json:"after"`
	Until etcdstore.Revision `json:"until"`
}

// endLine is the last line: what is recorded, and where the limit ended the response.
type endLine struct {
	Type       string             `json:"type"`
	Oldest     etcdstore.Revision `json:"oldest"`
	OldestTime *time.Time         `json:"oldestTime,omitempty"`
	Through    etcdstore.Revision `json:"through"`
	Next       etcdstore.Revision `json:"next,omitempty"`
}

// open finds what is recorded, and the revisions that the request asks for.
func (h *historyReader) open(ctx context.Context) error {
	recorder := h.handler.History.Recorder
	h.prefix = h.target.Resource.Prefix(h.handler.Store.Prefix)
	revision, err := h.target.Cache.Newest(ctx)
	if err != nil {
		return err
	}
	if err = recorder.Await(ctx, h.prefix, revision); err != nil {
		return err
	}
	known, ok := recorder.RangeOf(h.prefix)
	if !ok {
		return status.Error(http.StatusServiceUnavailable, "ServiceUnavailable", "the history of "+h.target.Resource.QualifiedName()+" is not recorded yet: try again in a few seconds")
	}
	h.recorded, h.since, h.until = known, known.Oldest+1, known.Through
	since, err := h.revisionOf(h.options.Since)
	if err != nil {
		return err
	}
	if h.options.Since.Time != nil {
		since++ // the first change after the last one before that time
	}
	h.since = max(h.since, since)
	if h.options.Until == (keyrange.Moment{}) {
		return nil
	}
	until, err := h.revisionOf(h.options.Until)
	h.until = min(h.until, until)
	return err
}

// revisionOf returns a revision that the request names, or that of the last event before a time that it names; zero: that is before all that is recorded.
func (h *historyReader) revisionOf(m keyrange.Moment) (etcdstore.Revision, error) {
	if m.Time == nil {
		return m.Revision, nil
	}
	revision, _, ok, err := h.handler.History.Recorder.At(h.prefix, m.Time.Of(time.Now()))
	if err != nil || !ok {
		return 0, err
	}
	return revision, nil
}

// write writes the response. An error after its first line is a line, too.
func (h *historyReader) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	p := response.NewBody(w, r, http.StatusOK, h.handler.Responder.Compressors)
	defer p.Finish()
	if err := h.segments(r.Context(), p); err != nil {
		p.Bytes = encoding.AppendError(p.Bytes, status.Of(err))
		return
	}
	end := endLine{Type: "END", Oldest: h.recorded.Oldest, Through: h.recorded.Through, Next: h.next}
	if _, at, ok, err := h.handler.History.Recorder.Oldest(h.prefix); ok && err == nil && !at.IsZero() {
		end.OldestTime = utc(at)
	}
	appendLine(p, end)
}

// segments writes the changes between the gaps, and the gaps.
func (h *historyReader) segments(ctx context.Context, p *response.Body) error {
	from := h.since
	for _, gap := range h.recorded.Gaps {
		if gap.Until < from || gap.After >= h.until || h.next > 0 {
			continue
		}
		if err := h.segment(ctx, p, from, gap.After); err != nil {
			return err
		}
		if h.next == 0 {
			appendLine(p, gapLine{"GAP", gap.After, gap.Until})
			from = gap.Until + 1
		}
	}
	if h.next > 0 {
		return nil
	}
	return h.segment(ctx, p, from, h.until)
}

// segment writes the changes of some revisions, which have no gap.
func (h *historyReader) segment(ctx context.Context, p *response.Body, from, through etcdstore.Revision) error {
	if from > through {
		return nil
	}
	prefix := h.prefix
	exact := h.target.Scope.Name != ""
	if exact {
		prefix = h.target.Key(h.handler.Store.Prefix)
	} else if h.target.Scope.Namespace != "" && h.target.Resource.Mount == nil {
		prefix += h.target.Scope.Namespace + "/"
	}
	w := h.handler.History.Store.Watch(ctx, prefix, etcdstore.WatchOptions{After: from - 1, Exact: exact, Previous: true})
	defer func() { _ = w.Close() }()
	turn := h.account.Turn()
	defer turn.End()
	for after := from - 1; after < through; {
		turn.End() // before a read of the disk
		batch, err := w.Next(ctx)
		if err != nil {
			return err
		}
		after = batch.Through
		for _, e := range batch.Events {
			if e.Revision > through {
				return nil
			}
			if err := turn.Continue(); err != nil {
				return err
			}
			if h.next > 0 {
				return nil
			}
			if err := h.event(ctx, p, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// event writes the line of an event, unless the request does not ask for it.
func (h *historyReader) event(ctx context.Context, p *response.Body, e etcdstore.Event) error {
	c, before, ok := h.describe(e)
	if !ok {
		return nil
	}
	if h.options.Manager != "" && c.Manager.Name != h.options.Manager {
		return nil
	}
	if h.filter != nil {
		matches, err := h.filter.Matches(ctx, filter.Input{Type: encoding.EventType(c.Type), Key: e.Key, Document: c.Object, Old: before})
		if err != nil || !matches {
			return err
		}
	}
	if h.options.Limit > 0 && h.written >= h.options.Limit && e.Revision > h.last { // the changes of one revision stay together
		h.next = e.Revision
		return nil
	}
	h.written, h.last = h.written+1, e.Revision
	if h.options.Previous && c.Type != string(encoding.Added) {
		c.Previous = before
	}
	appendLine(p, c)
	return p.FlushLarge()
}
