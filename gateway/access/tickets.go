package access

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// ServeTickets issues a ticket, with which a browser opens one stream at a path, because EventSource and WebSocket cannot send a header,
// and URLs with tokens stay in logs and histories.
func (c *Control) ServeTickets(w http.ResponseWriter, r *http.Request) {
	answer, err := c.issueTicket(w, r)
	if err != nil {
		c.responder.Error(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	response.WriteJSON(w, r, http.StatusCreated, answer)
}

func (c *Control) issueTicket(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if c := CallerOf(r); c != nil && c.impersonating != nil {
		return nil, status.BadRequest("a ticket cannot be issued to an impersonated user: use the credential of that user")
	}
	path, err := ticketPath(w, r)
	if err != nil {
		return nil, err
	}
	ticket, expires, ok := c.Authenticator.Tickets.Issue(identityOf(r), path, time.Now())
	if !ok {
		return nil, apierrors.NewTooManyRequests("too many tickets wait to be used", 5)
	}
	return json.Marshal(map[string]any{"ticket": ticket, "expires": expires.UTC()})
}

// ticketPath returns the path in the body of a request, decoded as by middleware.CleanPath.
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
