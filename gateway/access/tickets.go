package access

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/access/authentication"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// ticketAnswer is what POST /v1/tickets answers.
type ticketAnswer struct {
	Ticket  string    `json:"ticket"`
	Expires time.Time `json:"expires"`
}

// ServeTickets gives its caller a ticket, with which a browser opens one stream at a path: EventSource and WebSocket cannot send
// a header, and a token does not belong into a URL.
func (a *Control) ServeTickets(w http.ResponseWriter, r *http.Request) {
	path, err := ticketPath(w, r)
	if err != nil {
		a.responder.Error(w, r, err)
		return
	}
	ticket, expires, err := a.Authenticator.Tickets.Issue(identityOf(r), path, time.Now())
	if errors.Is(err, authentication.ErrTooManyTickets) {
		err = apierrors.NewTooManyRequests(err.Error(), 5)
	}
	if err != nil {
		a.responder.Error(w, r, err)
		return
	}
	text, err := json.Marshal(ticketAnswer{ticket, expires.UTC()})
	if err != nil {
		a.responder.Error(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	response.WriteJSON(w, r, http.StatusCreated, text)
}

// ticketPath is the path in the body of a request, as middleware.CleanPath would leave it.
func ticketPath(w http.ResponseWriter, r *http.Request) (string, error) {
	body, err := request.ReadBody(w, r)
	if err != nil {
		return "", err
	}
	var wanted struct {
		Path string `json:"path"`
	}
	if err = json.Unmarshal(body, &wanted); err != nil || wanted.Path == "" {
		return "", status.BadRequest(`want a body as {"path":"/api/v1/namespaces/default/configmaps"}`)
	}
	given, _, _ := strings.Cut(wanted.Path, "?")
	segments, err := resource.ParsePath(given)
	if err != nil {
		return "", status.BadRequest("%v", err)
	}
	return request.DecodePath(given, segments), nil
}
