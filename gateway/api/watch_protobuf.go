package api

import (
	"net/http"

	"revtail/encoding"
	"revtail/encoding/protobuf"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/forms"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

// encoderOf returns the encoder of a watch, and makes its query encode the objects in protobuf if the client wants that.
func (h *Handler) encoderOf(r *http.Request, t catalog.Target, f response.Representation, query *watchcache.WatchQuery) watch.Encoder {
	shown := f.View(t.Resource)
	if !f.Protobuf {
		return encoder{shown}
	}
	m := h.Forms.Messages(t.Resource, f)
	query.Encoding = m
	return messageEncoder{Messages: m, isMessage: request.WantsWebSocket(r)}
}

// messageEncoder writes the events of a watch in protobuf. Its objects are encoded already.
type messageEncoder struct {
	forms.Messages

	isMessage bool // each frame is a message of a WebSocket, which has its own length
}

func (messageEncoder) ContentType() string { return response.ProtobufStream }

func (messageEncoder) Preamble() []byte { return nil }

func (e messageEncoder) Event(dst []byte, c watchcache.Change, _ bool) []byte {
	return e.frame(dst, c.Type, c.Encoded)
}

func (e messageEncoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	message, err := e.Kind.AppendObject(nil, e.View.Bookmark(through, end))
	if err != nil {
		return e.ErrorEvent(dst, err) // not reached: every kind has metadata
	}
	return e.frame(dst, encoding.Bookmark, message)
}

func (e messageEncoder) ErrorEvent(dst []byte, err error) []byte {
	return e.frame(dst, encoding.Error, protobuf.AppendStatus(nil, status.Of(err)))
}

func (e messageEncoder) frame(dst []byte, kind encoding.EventType, object []byte) []byte {
	if e.isMessage {
		return protobuf.AppendEvent(dst, string(kind), object)
	}
	return protobuf.AppendFrame(dst, string(kind), object)
}

// Passes is zero: the watcher has encoded the objects.
func (messageEncoder) Passes() int { return 0 }

func (messageEncoder) Shared() bool { return true }
