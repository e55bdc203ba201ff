package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"revtail/encoding"
	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	f, err := h.negotiate(r, t, response.Object)
	if err != nil {
		return err
	}
	if at, err := h.revisionAt(w, r, t); err != nil || at > 0 {
		if err != nil {
			return err
		}
		return h.serveGetAt(w, r, t, at, f)
	}
	revision, unset, err := request.ParseRevision(request.Query(r).Get("resourceVersion"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), request.Timeout)
	defer cancel()
	object, err := h.Store.Get(ctx, t, revision, unset)
	if !unset {
		setAge(w, t)
	}
	if err == nil && (object == nil || !object.Shown()) {
		if object != nil {
			h.warnInvalid(w, t, []*watchcache.Object{object}, 1)
		}
		err = status.ObjectNotFound(t.Ref)
	}
	if err != nil {
		return err
	}
	memory, err := h.Flows.ResponseBytes.Acquire(ctx, access.AccountOf(r), objectMemory(object.JSON))
	if err != nil {
		return err
	}
	defer memory.Release()
	return h.respondObject(w, r, t, f, http.StatusOK, object.JSON)
}

func (h *Handler) serveList(w http.ResponseWriter, r *http.Request, t catalog.Target) error {
	params, f, err := h.listOptions(w, r, t, response.List)
	if err != nil {
		return err
	}
	timeout := request.Timeout
	if params.HasTimeout {
		timeout = min(timeout, params.Timeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	params.Account = h.Watches.Account(r)
	defer params.Account.Release()
	list, err := h.Store.List(ctx, t, params)
	if err != nil {
		return err
	}
	if !params.Unset && !params.Exact && params.Continue == nil {
		setAge(w, t)
	}
	h.warnInvalid(w, t, list.Invalid, list.InvalidCount)
	return h.respondList(ctx, w, r, t, f, list)
}

// respondList writes a list in the representation that the client asks for, when the response may hold its memory.
func (h *Handler) respondList(ctx context.Context, w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, list *watchcache.List) error {
	if f.Protobuf {
		return h.respondMessageList(ctx, w, r, t, f, list)
	}
	holds := listMemory(r, list, response.ServableFromCache(f.View(t.Resource), f.Format(r)))
	memory, err := h.Flows.ResponseBytes.Acquire(ctx, access.AccountOf(r), holds)
	if err != nil {
		return err
	}
	defer memory.Release()
	h.writeList(w, r, t, f, list)
	return nil
}

const (
	// listBuffer is about how many bytes a list holds that is converted or compressed while it is sent: its buffer, that of the compressor,
	// and one object. smallResponse is the size up to which a response is not counted.
	listBuffer    = 1 << 20
	smallResponse = 64 << 10
)

// objectMemory returns how many bytes the response of an object holds: its representation and the buffer, if it is large.
func objectMemory(document []byte) int64 {
	if len(document) <= smallResponse {
		return 0
	}
	return 2 * int64(len(document))
}

// listMemory returns how many bytes the response of a list holds: none of its own if it leaves as it is in the cache.
func listMemory(r *http.Request, list *watchcache.List, servable bool) int64 {
	asItIs := servable && r.Header.Get("Accept-Encoding") == ""
	if list.Text != nil && (asItIs || list.Size <= smallResponse) {
		return 0
	}
	return listBuffer
}

// writeList writes a list, as it is read from the cache, in the representation that the client asks for. Its turn pays for
// what is not copied. If the client is so slow that the state takes too much memory, the response breaks.
func (h *Handler) writeList(w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, list *watchcache.List) {
	meta := encoding.ListMeta{ResourceVersion: int64(list.Revision), RemainingItemCount: list.Remaining, Continue: storage.NextPage(t, list)}
	shown, written := f.View(t.Resource), f.Format(r)
	w.Header().Set("Content-Type", written.ContentType())
	p := response.NewBody(w, r, http.StatusOK, h.Responder.Compressors)
	defer p.Finish()
	if list.Text == nil || list.Size > smallResponse {
		list.Hold()
		defer list.Release()
	}
	if list.Text != nil && response.ServableFromCache(shown, written) {
		p.WriteList(response.NewCachedList(shown.ListHead(meta), list, socket.WriteTimeout), r)
	} else {
		p.WriteItems(written, shown.ListHead(meta), list, h.Forms.Items(t.Resource, f, shown))
	}
	if slow, ok := errors.AsType[*watchcache.SlowReaderError](p.Err()); ok {
		access.RequestLogOf(r).SetError(slow)
		panic(http.ErrAbortHandler) // the client must not take the list for complete
	}
}

// respondObject writes an object in the representation that the client asks for.
func (h *Handler) respondObject(w http.ResponseWriter, r *http.Request, t catalog.Target, f response.Representation, code int, document []byte) error {
	document, err := object.ToView(t.Ref, document)
	if err != nil {
		return err
	}
	if f.Protobuf {
		return h.respondMessage(w, r, t, f, code, document)
	}
	response.WriteDocument(response.NewBody(w, r, code, h.Responder.Compressors), f.Format(r), f.View(t.ViewKind()).Object(document))
	return nil
}

// setAge sets the Age header (RFC 9111, section 5.1) to the time since etcd confirmed the state of the cache. The age grows while etcd
// cannot be reached.
func setAge(w http.ResponseWriter, t catalog.Target) {
	w.Header().Set("Age", strconv.Itoa(int(t.Cache.Age().Seconds())))
}

// warnInvalid warns of the values that the response leaves out because they cannot be decoded.
func (h *Handler) warnInvalid(w http.ResponseWriter, t catalog.Target, objects []*watchcache.Object, count int) {
	for _, o := range objects {
		key := t.Resource.Prefix(h.Store.Prefix) + strings.TrimPrefix(o.Path(), "\x00") // which may be longer than a header
		response.Warn(w, fmt.Sprintf("the value of the key %.256q is not shown: %v", key, o.Invalid))
	}
	if more := count - len(objects); more > 0 {
		response.Warn(w, strconv.Itoa(more)+" more values are not shown because they cannot be decoded")
	}
}
