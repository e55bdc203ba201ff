package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/protobuf"
	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/forms"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/response"
	"revtail/gateway/watchcache"
)

// protobufOf returns what of the responses for a target has a protobuf form.
func protobufOf(t catalog.Target) response.Protobuf {
	kind := t.ViewKind()
	if kind.GoType != nil && protobuf.KindOf(kind.APIVersion(), kind.Kind) != nil {
		return response.ObjectProtobuf
	}
	return response.MetadataProtobuf
}

// respondMessage writes an object in protobuf. An object that is not of its kind leaves as JSON, if the client accepts that.
func (h *Handler) respondMessage(w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, code int, document []byte) error {
	kind := t.ViewKind()
	message, cause := f.MessageKind(kind).AppendObject(nil, f.View(kind).Object(document))
	body := func() *response.Body { return response.NewBody(w, r, code, h.Responder.Compressors) }
	if cause == nil {
		response.WriteMessage(body(), message)
		return nil
	}
	f, ok := withoutProtobuf(r, response.Object, f)
	if !ok {
		return forms.MessageError(t.Resource, t.Scope.Path(), cause)
	}
	response.WriteDocument(body(), f.Format(r), f.View(kind).Object(document))
	return nil
}

// withoutProtobuf returns the representation that the client wants if there is no protobuf; false: it accepts nothing else.
func withoutProtobuf(r *http.Request, about response.Kind, f response.Representation) (response.Representation, bool) {
	plain, err := response.Negotiate(r, about, response.NoProtobuf)
	plain.Fields = f.Fields
	return plain, err == nil
}

// respondStatus answers a request that has succeeded and has no object to show.
func respondStatus(w http.ResponseWriter, r *http.Request, f response.Representation, success *metav1.Status) {
	if f.Protobuf { // also as the metadata of an object, which a Status does not have
		response.WriteMessage(response.NewBody(w, r, http.StatusOK, nil), protobuf.AppendStatus(nil, success))
		return
	}
	response.WriteStatus(w, r, http.StatusOK, success)
}

// respondMessageList writes a list in protobuf. A list with an object that is not of its kind leaves as JSON, if the client accepts that.
func (h *Handler) respondMessageList(ctx context.Context, w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, list *watchcache.List) error {
	objects := slices.Collect(list.Objects) // the memory of the response depends on them
	memory, err := h.Flows.ResponseBytes.Acquire(ctx, access.AccountOf(r), messageMemory(objects))
	if err != nil {
		return err
	}
	defer memory.Release()
	messages, bad, cause := h.encodeList(ctx, t, f, list, objects)
	if cause == nil {
		body := response.NewBody(w, r, http.StatusOK, h.Responder.Compressors)
		response.WriteMessageList(body, messages.Size(), messages.Pieces())
		return nil
	}
	if bad == nil {
		return cause
	}
	f, ok := withoutProtobuf(r, response.List, f)
	if !ok {
		return cause
	}
	again := *list
	again.Objects = slices.Values(objects)
	h.writeList(w, r, t, f, &again)
	return nil
}

// messageMemory returns how many bytes a list in protobuf holds: about as many as its documents have.
func messageMemory(objects []*watchcache.Object) int64 {
	size := int64(0)
	for _, o := range objects {
		size += int64(len(o.JSON))
	}
	if size <= smallResponse {
		return 0
	}
	return size
}

// encodeList encodes a list in turns of its account. bad is the object that has caused the error; nil: the request has ended.
func (h *Handler) encodeList(ctx context.Context, t catalog.Target, f response.Representation, list *watchcache.List, objects []*watchcache.Object) (messages *protobuf.List, bad *watchcache.Object, err error) {
	form := h.Forms.Messages(t.Resource, f)
	messages = protobuf.NewList(form.Kind, len(objects))
	defer list.Turn.End()
	for _, o := range objects {
		if err := list.Turn.ContinueBytes(len(o.JSON)); err != nil {
			return nil, nil, err
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		message, err := form.EncodeStored(o)
		if err != nil {
			return nil, o, err
		}
		messages.Add(message)
	}
	meta := metav1.ListMeta{RemainingItemCount: list.Remaining, Continue: storage.NextPage(t, list)}
	if list.Revision != notStored {
		meta.ResourceVersion = strconv.FormatInt(int64(list.Revision), 10)
	}
	return messages, nil, messages.Finish(f.MessageListKind(t.Resource), meta)
}
