package api

import (
	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watchcache"
)

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

func (e encoder) Shared() bool {
	switch e.view.(type) {
	case response.PlainView, response.ProjectedView:
		return true
	}
	return false
}
