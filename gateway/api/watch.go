package api

import (
	"net/http"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

// serveWatch checks the query of a watch and serves the watch until it ends. An error before the first byte is a Status with its HTTP
// code; a later one is an ERROR event.
func (h *Handler) serveWatch(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	params, f, err := h.listOptions(w, r, t, response.Watch)
	if err != nil {
		return err
	}
	query, err := h.Store.WatchQuery(r.Context(), t, params)
	if err != nil {
		return err
	}
	if err = t.Cache.AwaitConverted(r.Context(), query); err != nil {
		return err
	}
	written := h.encoderOf(r, t, f, &query)
	start := watch.Start{
		Resource: t.Resource.QualifiedName(), Cache: t.Cache.Cache, Query: query, Encoder: written,
		Bookmarks: params.Bookmarks, BookmarkEvery: watch.BookmarkPeriod,
		Deadline: watch.DeadlineAfter(params.Timeout), Fail: h.Responder.Error, Done: func() {},
	}
	if f.EventStream {
		h.Watches.AsEventStream(w, &start)
	}
	h.Watches.Follow(w, r, start)
	return nil
}

// encoder writes the events of a watch as lines of JSON, as Kubernetes does.
type encoder struct{ view response.View }

func (encoder) ContentType() string { return response.JSON }

func (encoder) Preamble() []byte { return nil }

func (e encoder) Event(dst []byte, c watchcache.Change, _ bool) []byte {
	return encoding.AppendEvent(dst, c.Type, e.view.Object(c.Object.JSON))
}

func (e encoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	return encoding.AppendEvent(dst, encoding.Bookmark, e.view.Bookmark(through, end))
}

func (encoder) ErrorEvent(dst []byte, err error) []byte {
	return encoding.AppendError(dst, status.Of(err))
}

func (e encoder) Passes() int { return e.view.Passes() }

func (e encoder) Shared() bool {
	switch e.view.(type) {
	case response.PlainView, response.ProjectedView:
		return true
	}
	return false
}
