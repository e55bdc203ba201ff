package authentication

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// TicketParameter is the query parameter of a ticket.
	TicketParameter = "ticket"
	// ticketLife is how long a ticket waits to be used.
	ticketLife = 30 * time.Second
	// maxTickets bounds those that wait, and maxTicketsOfOne those of one user.
	maxTickets      = 10_000
	maxTicketsOfOne = 100
)

// ErrTooManyTickets is the error of Issue if there are too many unused tickets.
var ErrTooManyTickets = errors.New("too many tickets wait to be used")

// Tickets stand for who has taken them, once, soon, and for one URL: EventSource and WebSocket of a browser cannot send a header,
// and a token in a URL would be kept in logs and histories. The zero value is ready. Each gateway knows its own tickets only.
type Tickets struct {
	mu   sync.Mutex // guards the field below
	open map[[sha256.Size]byte]ticket
}

type ticket struct {
	identity *Identity
	path     string
	until    time.Time
}

// Issue makes a ticket with which a GET of a path is made by an identity.
func (t *Tickets) Issue(identity *Identity, path string, now time.Time) (text string, until time.Time, err error) {
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
		return "", until, ErrTooManyTickets
	}
	t.open[sha256.Sum256([]byte(text))] = ticket{identity, path, until}
	return text, until, nil
}

// TicketOf is the ticket that a request brings.
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

// use takes the ticket of a request. It is gone then, whether or not it fits.
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
