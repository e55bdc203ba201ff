package response

import (
	"iter"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/protobuf"
	"revtail/gateway/resource"
)

// streamParameter is the parameter of the media type of a watch.
const streamParameter = ";stream=watch"

// ProtobufStream is the media type of a watch in protobuf.
const ProtobufStream = protobuf.MediaType + streamParameter

// MessageKind returns the protobuf kind of what the view of a resource shows.
func (f Representation) MessageKind(res *resource.Resource) *protobuf.Kind {
	if f.As != "" {
		return protobuf.KindOf(f.apiVersion, asMetadata)
	}
	return protobuf.KindOf(res.APIVersion(), res.Kind)
}

// MessageListKind returns the kind of a list of what the view of a resource shows.
func (f Representation) MessageListKind(res *resource.Resource) string {
	if f.As != "" {
		return asMetadataList
	}
	return res.ListKind()
}

// WriteMessage writes an object in protobuf and finishes the body.
func WriteMessage(p *Body, message []byte) {
	p.writer.Header().Set("Content-Type", protobuf.MediaType)
	p.Bytes = append(p.Bytes, message...)
	p.Finish()
}

// WriteMessageList writes a list in protobuf and finishes the body. It does not copy a list that is not compressed.
func WriteMessageList(p *Body, size int, pieces iter.Seq[[]byte]) {
	defer p.Finish()
	p.writer.Header().Set("Content-Type", protobuf.MediaType)
	if p.coding == nil || size <= compressAbove {
		p.open = true
		p.writer.Header().Set("Content-Length", strconv.Itoa(size))
		p.writer.WriteHeader(p.code)
		for piece := range pieces {
			if _, p.err = p.writer.Write(piece); p.err != nil {
				return
			}
		}
		return
	}
	for piece := range pieces {
		p.Bytes = append(p.Bytes, piece...)
		if p.FlushLarge() != nil {
			return
		}
	}
}

// WriteStatus answers a request with a Status, in the format that the client prefers.
func WriteStatus(w http.ResponseWriter, r *http.Request, code int, status *metav1.Status) {
	if prefersProtobuf(r) {
		WriteMessage(NewBody(w, r, code, nil), protobuf.AppendStatus(nil, status))
		return
	}
	WriteJSON(w, r, code, encoding.AppendStatus(nil, status))
}

// prefersProtobuf reports whether a client prefers a Status in protobuf. A media range for another kind says nothing about a Status.
func prefersProtobuf(r *http.Request) bool {
	for _, m := range Accepted(r) {
		f, ok := m.representation(Object)
		if ok && f.As == "" {
			return f.Protobuf
		}
	}
	return false
}
