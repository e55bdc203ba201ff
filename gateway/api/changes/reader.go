package changes

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/gateway/access/cputime"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/watchcache/filter"
)

// Source is what a journal has recorded of the store.
type Source struct {
	Store    etcdstore.Store // whose watches are answered from the journal, decrypted
	Recorder Recorder
}

// Recorder knows what is recorded of the keys with a prefix. See recorder.Recorder.
type Recorder interface {
	RangeOf(prefix string) (journal.Range, bool)
	At(prefix string, when time.Time) (revision etcdstore.Revision, arrived time.Time, ok bool, err error)
	Oldest(prefix string) (revision etcdstore.Revision, at time.Time, ok bool, err error)
	Await(ctx context.Context, prefix string, revision etcdstore.Revision) error
	Last(ctx context.Context, prefix string, o journal.LastOptions) (etcdstore.Revision, error)
	Records(prefix string) bool
	Arrivals(ctx context.Context, prefix string, exact bool, from, through etcdstore.Revision) iter.Seq2[journal.Arrival, error]
}

// Reader reads the recorded changes of the objects of a target, for one request. Open comes first, then Write.
type Reader struct {
	Source  *Source
	Target  catalog.Target
	Root    string // of the keys of resources
	Options request.HistoryOptions
	Filter  *filter.Filter // nil: all
	Account *cputime.Account

	prefix       string
	recorded     journal.Range
	since, until etcdstore.Revision // inclusive

	written int                // changes
	last    etcdstore.Revision // of them
	next    etcdstore.Revision // the one that follows the last, if the limit ended the response
}

// change is a line of the response. See deploy/API.md.
type change struct {
	Type      string             `json:"type"`
	Revision  etcdstore.Revision `json:"revision"`
	Time      *time.Time         `json:"time,omitempty"`
	Namespace string             `json:"namespace,omitempty"`
	Name      string             `json:"name"`
	Manager
	Fields     []string        `json:"fields"`
	Omitted    bool            `json:"omitted,omitempty"`    // the value is not kept
	Unreadable string          `json:"unreadable,omitempty"` // why one of the states cannot be shown
	Object     json.RawMessage `json:"object,omitempty"`
	Previous   json.RawMessage `json:"previous,omitempty"`
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

// Open finds what is recorded, and the revisions that the request asks for. The error is a Status, or one of the store.
func (r *Reader) Open(ctx context.Context) error {
	recorder := r.Source.Recorder
	r.prefix = r.Target.Resource.Prefix(r.Root)
	if _, ok := recorder.RangeOf(r.prefix); !ok && !recorder.Records(r.prefix) {
		return notRecorded(r.Target.Resource.QualifiedName())
	}
	revision, err := r.Target.Cache.Newest(ctx)
	if err != nil {
		return err
	}
	if err = recorder.Await(ctx, r.prefix, revision); err != nil {
		return err
	}
	known, ok := recorder.RangeOf(r.prefix)
	if !ok {
		return status.Error(http.StatusServiceUnavailable, "ServiceUnavailable", "the history of "+r.Target.Resource.QualifiedName()+" is not recorded yet: try again in a few seconds")
	}
	r.recorded, r.since, r.until = known, known.Oldest+1, known.Through
	since, err := r.revisionOf(r.Options.Since)
	if err != nil {
		return err
	}
	if r.Options.Since.Time != nil {
		since++ // the first change after the last one before that time
	}
	r.since = max(r.since, since)
	if r.Options.Until == (keyrange.Moment{}) {
		return nil
	}
	until, err := r.revisionOf(r.Options.Until)
	r.until = min(r.until, until)
	return err
}

func notRecorded(name string) error {
	return status.Error(http.StatusNotFound, "NotFound", "this gateway does not record "+name+": start it with "+name+
		" in --history-resources, or without -"+name+" there, or without that option, or ask one that does; a mount that is added while the gateway runs is recorded from its next start on")
}

// revisionOf returns a revision that the request names, or that of the last event before a time that it names; zero: that is before all that is recorded.
func (r *Reader) revisionOf(m keyrange.Moment) (etcdstore.Revision, error) {
	if m.Time == nil {
		return m.Revision, nil
	}
	revision, _, ok, err := r.Source.Recorder.At(r.prefix, m.Time.Of(time.Now()))
	if err != nil || !ok {
		return 0, err
	}
	return revision, nil
}

// Write writes the response. An error is its last line.
func (r *Reader) Write(w http.ResponseWriter, req *http.Request, compressors *response.Compressors) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	p := response.NewBody(w, req, http.StatusOK, compressors)
	defer p.Finish()
	if err := r.segments(req.Context(), p); err != nil {
		p.Bytes = encoding.AppendError(p.Bytes, status.Of(err))
		return
	}
	end := endLine{Type: "END", Oldest: r.recorded.Oldest, Through: r.recorded.Through, Next: r.next}
	if _, at, ok, err := r.Source.Recorder.Oldest(r.prefix); ok && err == nil && !at.IsZero() {
		end.OldestTime = utc(at)
	}
	appendLine(p, end)
}

// event writes the line of an event, unless the request does not ask for it.
func (r *Reader) event(ctx context.Context, p *response.Body, e etcdstore.Event) error {
	c, before, ok := r.describe(e)
	if !ok || r.Target.Scope.Namespace != "" && c.Namespace != r.Target.Scope.Namespace { // the keys of a mount's namespace have no common prefix
		return nil
	}
	if r.Options.Manager != "" && c.Manager.Name != r.Options.Manager {
		return nil
	}
	if r.Filter != nil {
		matches, err := r.Filter.Matches(ctx, filter.Input{Type: encoding.EventType(c.Type), Key: e.Key, Document: c.Object, Old: before})
		if err != nil || !matches {
			return err
		}
	}
	if r.Options.Limit > 0 && r.written >= r.Options.Limit && e.Revision != r.last { // the changes of one revision stay together
		r.next = e.Revision
		return nil
	}
	r.written, r.last = r.written+1, e.Revision
	if r.Options.Previous && c.Type != string(encoding.Added) {
		c.Previous = before
	}
	appendLine(p, c)
	return p.FlushLarge()
}
