package api

import (
	"context"
	"net/http"

	"revtail/gateway/access"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// serveWrite reads a write from the request and has do, a method of the store, make it.
func (h *Handler) serveWrite(w http.ResponseWriter, r *http.Request, t catalog.Target, do func(context.Context, *storage.Request) (storage.Result, error)) error {
	wr, f, err := h.readWrite(w, r, t)
	if err != nil {
		return err
	}
	wr.Account = h.Watches.Account(r)
	defer wr.Account.Release()
	done, err := do(h.clientContext(w, r), wr)
	sendWarnings(w, wr.Warnings)
	if err != nil {
		return err
	}
	object, err := done.Object(t)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if done.Created {
		code = http.StatusCreated
	}
	return h.respondObject(w, r, t, f, code, object)
}

// clientContext returns the context of a client's write, with its user. What admission says about the write comes as headers and in the audit log.
func (h *Handler) clientContext(w http.ResponseWriter, r *http.Request) context.Context {
	return h.Store.Admission.WithClient(access.ContextOf(r), writer{w, access.RequestLogOf(r)})
}

// writer is the client of a write.
type writer struct {
	response http.ResponseWriter
	log      *access.RequestLog
}

// Warn implements admission.Client.
func (c writer) Warn(text string) { response.Warn(c.response, text) }

// Annotate implements admission.Client.
func (c writer) Annotate(key, value string) { c.log.Annotate(key, value) }

// readWrite reads a write, and the representation that its client asks for. It does not decode the body.
func (h *Handler) readWrite(w http.ResponseWriter, r *http.Request, t catalog.Target) (*storage.Request, response.Representation, error) {
	options, err := parseWriteOptions(r, t.Ref)
	if err != nil {
		return nil, response.Representation{}, err
	}
	kind := response.Object
	if t.Resource.Virtual {
		kind = response.Review
	}
	f, err := h.negotiate(r, t, kind)
	if err != nil {
		return nil, response.Representation{}, err
	}
	body, err := request.ReadBody(w, r)
	wr := &storage.Request{Target: t, Options: options, ContentType: r.Header.Get("Content-Type"), Body: body}
	if c := access.CallerOf(r); c != nil {
		wr.Permit = func(verb string) error { return h.Access.AuthorizeVerb(c, verb) }
	}
	return wr, f, err
}

func sendWarnings(w http.ResponseWriter, warnings []string) {
	for _, text := range warnings {
		response.Warn(w, text)
	}
}
