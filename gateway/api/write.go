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

// serveWrite reads the request, changes the object with do, and answers.
func (h *Handler) serveWrite(w http.ResponseWriter, r *http.Request, t catalog.Target, do func(context.Context, *storage.Request) (storage.Result, error)) {
	wr, f, err := h.readWrite(w, r, t)
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	done, err := do(r.Context(), wr)
	sendWarnings(w, wr.Warnings)
	var object []byte
	if err == nil {
		object, err = done.Object(t)
	}
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	code := http.StatusOK
	if done.Created {
		code = http.StatusCreated
	}
	h.respondObject(w, r, t, f, code, object)
}

// readWrite reads a write, and how its client wants the answer. The body is not decoded yet.
func (h *Handler) readWrite(w http.ResponseWriter, r *http.Request, t catalog.Target) (*storage.Request, response.Representation, error) {
	options, err := parseWriteOptions(r, t.Ref)
	if err != nil {
		return nil, response.Representation{}, err
	}
	f, err := h.negotiateForm(r, response.Object)
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
