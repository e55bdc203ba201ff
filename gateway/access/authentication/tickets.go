package authentication

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

const (
	// TicketParameter is the query parameter of a ticket.
	TicketParameter = "ticket"
	// ticketLife is how long an unused ticket is valid.
	ticketLife = 30 * time.Second
	// maxTickets limits the unused tickets of all users, and maxTicketsOfOne those of one.
	maxTickets      = 10_000
	maxTicketsOfOne = 100
)

// Tickets authenticate their user once, within ticketLife and for one path. Browsers need them because EventSource and WebSocket cannot
// send a header, and a token in a URL would stay in logs and histories. The zero value is ready to use. A ticket is valid only at the
// gateway that has issued it.
type Tickets struct {
	mu   sync.Mutex // guards the field below
	open map[[sha256.Size]byte]ticket
}

type ticket struct {
	identity *Identity
	path     string
	until    time.Time
}

// Issue returns a ticket for one GET of a path by an identity; false: too many tickets are unused.
func (t *Tickets) Issue(identity *Identity, path string, now time.Time) (text string, until time.Time, ok bool) {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // it never fails
	text, until = base64.RawURLEncoding.EncodeToString(random), now.Add(ticketLife)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[[sha256.Size]byte]ticket)
	}
	own := 0
	for digest, waiting := range t.open {
		switch {
		case !now.Before(waiting.until):
			delete(t.open, digest)
		case waiting.identity.Name == identity.Name:
			own++
		}
	}
	if len(t.open) >= maxTickets || own >= maxTicketsOfOne {
		return "", until, false
	}
	t.open[sha256.Sum256([]byte(text))] = ticket{identity, path, until}
	return text, until, true
}

// TicketOf returns the ticket in the query of a request.
func TicketOf(r *http.Request) (string, bool) {
	if r.URL.RawQuery == "" {
		return "", false
	}
	tickets, ok := r.URL.Query()[TicketParameter]
	if !ok {
		return "", false
	}
	return tickets[0], true
}

// use returns the identity of a ticket and removes the ticket, even if it is not valid for the request.
func (t *Tickets) use(text string, r *http.Request, now time.Time) (*Identity, error) {
	digest := sha256.Sum256([]byte(text))
	t.mu.Lock()
	found, ok := t.open[digest]
	delete(t.open, digest)
	t.mu.Unlock()
	if !ok || !now.Before(found.until) || r.Method != http.MethodGet || r.URL.Path != found.path || !found.identity.Holds(now) {
		return nil, ErrRefused
	}
	return found.identity, nil
}
