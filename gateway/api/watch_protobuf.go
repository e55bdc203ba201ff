package api

import (
	"net/http"

	"revtail/encoding"
	"revtail/encoding/protobuf"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

// encoderOf returns the encoder of a watch, and makes its query encode the objects in protobuf if the client wants that.
func encoderOf(r *http.Request, t catalog.Target, f response.Representation, query *watchcache.WatchQuery) watch.Encoder {
	shown := f.View(t.Resource)
	if !f.Protobuf {
		return encoder{shown}
	}
	m := messages{kind: f.MessageKind(t.Resource), view: shown, resource: t.Resource}
	query.Encoding = m
	return messageEncoder{messages: m, isMessage: request.WantsWebSocket(r)}
}

// messages encodes the objects of a watch in protobuf. Watches with equal values share the results.
type messages struct {
	kind     *protobuf.Kind
	view     response.View // of a comparable type: it is no Table
	resource *resource.Resource
}

// messagePasses is how often encoding reads a document, in the time that a scan takes: to decode it, and to encode the Go type.
const messagePasses = 15

// Encode implements watchcache.Encoding.
func (m messages) Encode(o *watchcache.Object) ([]byte, error) {
	message, err := m.kind.AppendObject(nil, m.view.Object(o.JSON))
	if err != nil {
		return nil, messageError(m.resource, o.Path(), err)
	}
	return message, nil
}

// Passes implements watchcache.Encoding.
func (m messages) Passes() int { return messagePasses + m.view.Passes() }

// Common implements watchcache.Encoding: there are as many projections as clients choose.
func (m messages) Common() bool {
	_, projected := m.view.(response.ProjectedView)
	return !projected
}

// messageEncoder writes the events of a watch in protobuf. Its objects are encoded already.
type messageEncoder struct {
	messages

	isMessage bool // each frame is a message of a WebSocket, which has its own length
}

func (messageEncoder) ContentType() string { return response.ProtobufStream }

func (messageEncoder) Preamble() []byte { return nil }

func (e messageEncoder) Event(dst []byte, c watchcache.Change, _ bool) []byte {
	return e.frame(dst, c.Type, c.Encoded)
}

func (e messageEncoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	message, err := e.kind.AppendObject(nil, e.view.Bookmark(through, end))
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
