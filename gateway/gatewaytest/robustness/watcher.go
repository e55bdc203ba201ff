package robustness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Client describes what a client follows, and how.
type Client struct {
	Name      string
	Scope     Scope
	Bookmarks bool
	Timeout   time.Duration // timeoutSeconds; zero: the gateway's own
	Quiet     bool          // it expects no changes
	Gateway   int           // the first one
	Since     int64         // it begins with the state at this revision; zero: with the newest
	Dialect   Dialect
	Stay      bool // always on the same gateway; otherwise on the next one after each failure
}

// watcher is a correct client: it lists, watches from there, resumes on any gateway that answers, and lists again only after a 410.
type watcher struct {
	Client
	run     *Run
	log     *Watching // in the history of its last list
	gateway int
	through atomic.Int64 // its last revision
}

// retryPause is the minimum pause of a client after a failure.
const retryPause = 50 * time.Millisecond

// start lists and watches until ctx ends.
func (w *watcher) start(ctx context.Context) {
	w.gateway = w.Gateway
	listed := false
	for ctx.Err() == nil {
		if !listed {
			if listed = w.list(ctx); !listed {
				w.turn(ctx, 0)
				continue
			}
		}
		s := w.stream(ctx)
		w.run.edit(func() { w.log.Steps = append(w.log.Steps, Step{Stream: s}) })
		listed = s.Code != gone
		if s.End != Clean && s.End != Closed && listed {
			w.turn(ctx, s.Code)
		}
	}
}

// turn switches to the next gateway, after a pause.
func (w *watcher) turn(ctx context.Context, code int) {
	if !w.Stay {
		w.gateway = (w.gateway + 1) % len(w.run.gateways)
	}
	wait := retryPause
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		wait = time.Second // as Retry-After says
	}
	pause(ctx, wait+rand.N(wait)) //nolint:gosec // so that clients do not connect all at once
}

// list begins, or begins again, in the current history.
func (w *watcher) list(ctx context.Context) bool {
	h := w.run.history()
	kind := Consistent
	if w.Since > 0 {
		kind = Exact
	}
	l, err := w.run.list(ctx, w.gateway, kind, w.Scope, w.Since)
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.code == gone && w.Since > 0 {
		w.run.edit(func() { w.run.Violate("journal", w.Name, "410 for a list at %d of gateway %d", w.Since, w.gateway) })
		w.Since = 0
	}
	if err != nil {
		return false
	}
	w.Since = 0
	l.Reader = w.Name
	w.through.Store(l.Revision)
	w.run.edit(func() {
		if w.log == nil || w.run.timelineOf[w.log] != h {
			w.log = &Watching{Name: w.Name, Scope: w.Scope, Quiet: w.Quiet}
			w.run.timelineOf[w.log] = h
			h.addWatcher(w.log)
		}
		w.log.Steps = append(w.log.Steps, Step{List: l})
	})
	return true
}

// stream is one watch, from its request to its end.
func (w *watcher) stream(ctx context.Context) *Stream {
	s := &Stream{Gateway: w.gateway, From: w.through.Load(), Sent: time.Now()}
	w.follow(ctx, s)
	s.Ended = time.Now()
	if ctx.Err() != nil && s.End != Clean && s.End != Failed {
		s.End = Closed
	}
	return s
}

func (w *watcher) follow(ctx context.Context, s *Stream) {
	var parameters []string
	if w.Bookmarks {
		parameters = append(parameters, "allowWatchBookmarks", "1")
	}
	if w.Timeout > 0 {
		parameters = append(parameters, "timeoutSeconds", fmt.Sprint(int(w.Timeout.Seconds())))
	}
	path, header := w.Dialect.request(w.Scope, s.From, parameters...)
	resp, err := w.run.ask(ctx, w.gateway, path, header)
	if err != nil {
		s.End, s.Why = Unreachable, err.Error()
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		s.End, s.Code, s.Why = Refused, resp.StatusCode, readText(resp.Body)
		return
	}
	s.Opened = time.Now()
	w.run.opened.Add(1)
	defer w.run.opened.Add(-1)
	reader := bufio.NewReader(resp.Body)
	frames := reading{Dialect: w.Dialect, frames: &w.run.frames}
	for {
		line, err := readLine(reader)
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			if s.End == "" {
				s.End = Clean
			}
			return
		case err != nil:
			s.End, s.Why = Cut, err.Error()
			return
		}
		complete, err := frames.take(line)
		if err != nil {
			s.End, s.Why = Malformed, err.Error()
			return
		}
		for _, frame := range complete {
			s.Lines = append(s.Lines, frame)
			if frame.Type == failed {
				s.End, s.Code, s.Why = Failed, frame.Code, string(line)
				continue
			}
			w.through.Store(frame.Object.Revision)
		}
	}
}

// readLine reads a line of any length. The line is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	rest, err := r.ReadBytes('\n')
	return append(long, rest...), err
}

func readText(r io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(r, 1000))
	return string(text)
}

// get sends a request to a gateway, and returns the response.
func (r *Run) get(ctx context.Context, gateway int, path string) (*http.Response, error) {
	return r.ask(ctx, gateway, path, nil)
}

func (r *Run) ask(ctx context.Context, gateway int, path string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.gateways[gateway].URL+path, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	return r.client.Do(req)
}

// refusal is an unexpected response.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.code, r.text) }

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
	}
	resp, err := r.get(ctx, gateway, scope.URL(parameters...))
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, &refusal{resp.StatusCode, readText(resp.Body)}
	}
	var body struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, err
	}
	l.Answered, l.Age = time.Now(), resp.Header.Get("Age")
	if l.Revision, err = strconv.ParseInt(body.Metadata.ResourceVersion, 10, 64); err != nil {
		return nil, err
	}
	for _, item := range body.Items {
		o, err := r.items.parse(item)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, o)
	}
	return l, nil
}

// listTimeout is the timeout of a list.
const listTimeout = 20 * time.Second
