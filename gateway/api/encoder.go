package api

import (
	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache"
)

// Encoder are the JSON lines of Kubernetes.
type Encoder struct{ view response.View }

func (Encoder) ContentType() string { return response.JSON }

func (Encoder) Preamble() []byte { return nil }

func (f Encoder) Event(dst []byte, c watchcache.Change, _ bool) []byte {
	return encoding.AppendEvent(dst, c.Type, f.view.Object(c.Object.JSON))
}

func (f Encoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	return encoding.AppendEvent(dst, encoding.Bookmark, f.view.Bookmark(through, end))
}

func (Encoder) ErrorEvent(dst []byte, err error) []byte {
	return encoding.AppendError(dst, status.Of(err))
}

func (f Encoder) Shared() bool {
	switch f.view.(type) {
	case response.PlainView, response.ProjectedView:
		return true
	}
	return false
}
