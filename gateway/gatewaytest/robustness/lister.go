package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// listTimeout is the timeout of a list.
const listTimeout = 20 * time.Second

// pageSize is the limit of a page.
const pageSize = "20"

// readLists makes all kinds of lists, four a second.
func (r *Run) readLists(ctx context.Context, gateway int) {
	scopes := []Scope{{}, {Namespace: "a"}, {Label: "color=blue"}}
	kinds := []ListKind{Consistent, Any, NotOlder, Exact, Paged}
	var last int64
	for i := 0; pause(ctx, 250*time.Millisecond); i++ {
		kind := kinds[i%len(kinds)]
		if last == 0 {
			kind = Consistent
		}
		h := r.history()
		l, err := r.list(ctx, gateway, kind, scopes[i%len(scopes)], last)
		if err != nil {
			continue // failed lists must only fail in time, which the scenarios check themselves
		}
		l.Reader = fmt.Sprint("reader-", gateway)
		h.addList(l)
		last = l.Revision
	}
}

// list requests a list from a gateway.
func (r *Run) list(ctx context.Context, gateway int, kind ListKind, scope Scope, asked int64) (*List, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	l := &List{Gateway: gateway, Life: int(r.gateways[gateway].life.Load()), Kind: kind, Scope: scope, Asked: asked, Sent: time.Now()}
	var parameters []string
	switch kind {
	case Any:
		parameters = []string{"resourceVersion", "0"}
	case NotOlder:
		parameters = []string{"resourceVersion", fmt.Sprint(asked), "resourceVersionMatch", "NotOlderThan"}
	case Exact:
		parameters = []string{"resourceVersion", fmt.Sprint(asked), "resourceVersionMatch", "Exact"}
	case Paged:
		parameters = []string{"limit", pageSize}
	}
	for {
		next, err := r.page(ctx, l, scope.URL(parameters...))
		if err != nil {
			return nil, err
		}
		if next == "" {
			l.Answered = time.Now()
			return l, nil
		}
		parameters = []string{"limit", pageSize, "continue", next}
	}
}

// page adds a page to a list, and returns the token of the next page; empty: there is none.
func (r *Run) page(ctx context.Context, l *List, path string) (next string, err error) {
	resp, err := r.get(ctx, r.client, l.Gateway, path, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", &refusal{resp.StatusCode, readText(resp.Body)}
	}
	var body struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
			Continue        string `json:"continue"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return "", err
	}
	l.Age = resp.Header.Get("Age")
	if l.Revision, err = strconv.ParseInt(body.Metadata.ResourceVersion, 10, 64); err != nil {
		return "", err
	}
	for _, item := range body.Items {
		o, err := r.items.parse(item)
		if err != nil {
			return "", err
		}
		l.Items = append(l.Items, o)
	}
	return body.Metadata.Continue, nil
}

// refusal is an unexpected response.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.code, r.text) }

// items caches decoded objects, as frames does for lines.
type items struct {
	mu    sync.Mutex // guards the field below
	known map[string]Object
}

func (m *items) parse(text []byte) (Object, error) {
	m.mu.Lock()
	o, ok := m.known[string(text)]
	m.mu.Unlock()
	if ok {
		return o, nil
	}
	o, _, err := parseObject(text)
	if err != nil {
		return o, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = make(map[string]Object)
	}
	m.known[string(text)] = o
	return o, nil
}

func (m *items) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
}
