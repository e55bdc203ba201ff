package gateway

import (
	"context"
	"net/http"
)

// serveWrite reads the request, changes the object with do, and answers.
func (h *apiHandler) serveWrite(w http.ResponseWriter, r *http.Request, t target, do func(context.Context, *writeRequest) (writeResult, error)) {
	wr, f, err := h.readWrite(w, r, t)
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	done, err := do(r.Context(), wr)
	sendWarnings(w, wr.warnings)
	var object []byte
	if err == nil {
		object, err = done.object(t)
	}
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	code := http.StatusOK
	if done.created {
		code = http.StatusCreated
	}
	h.respondObject(w, r, t, f, code, object)
}

// readWrite reads a write, and how its client wants the answer. The body is not decoded yet.
func (h *apiHandler) readWrite(w http.ResponseWriter, r *http.Request, t target) (*writeRequest, form, error) {
	options, err := parseWriteOptions(r, t.Ref)
	if err != nil {
		return nil, form{}, err
	}
	f, err := h.negotiateForm(r, anObject)
	if err != nil {
		return nil, form{}, err
	}
	body, err := readBody(w, r)
	wr := &writeRequest{target: t, writeOptions: options, contentType: r.Header.Get("Content-Type"), body: body}
	if c := callerOf(r); c != nil {
		wr.permit = func(verb string) error { return h.access.permitAlso(c, verb) }
	}
	return wr, f, err
}

func sendWarnings(w http.ResponseWriter, warnings []string) {
	for _, text := range warnings {
		warn(w, text)
	}
}
