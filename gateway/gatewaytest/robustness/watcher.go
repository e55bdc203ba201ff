package robustness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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
	HTTP2     bool          // over a connection that clients of the same gateway share, if that has HTTPS
	Leave     time.Duration // it ends each watch after this time; zero: it stays until the gateway ends it
	Stay      bool          // always on the same gateway; otherwise on the next one after each failure
}

// watcher is a correct client: it lists, watches from there, resumes on any gateway that answers, and lists again only after a 410.
type watcher struct {
	Client
	run     *Run
	gateway int
	through atomic.Int64 // its last revision

	// The fields below change within run.edit.
	log    *Watching // in the history of its last list
	open   *Stream   // nil: it has none
	listed bool      // it may watch; otherwise it has to list
}

// retryPause is the minimum pause of a client after a failure.
const retryPause = 50 * time.Millisecond

// start lists and watches until ctx ends.
func (w *watcher) start(ctx context.Context) {
	w.gateway = w.Gateway
	for listed := false; ctx.Err() == nil; {
		if !listed {
			if listed = w.list(ctx); !listed {
				w.turn(ctx, 0)
				continue
			}
		}
		s := w.stream(ctx)
		listed = s.Code != gone
		if s.End != Clean && listed {
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
	w.run.edit(func() {
		if w.listed = w.run.present == h; !w.listed {
			return // it lists again, in the new history
		}
		w.through.Store(l.Revision)
		if w.log == nil || w.run.timelineOf[w.log] != h {
			w.begin(h)
		}
		w.log.Steps = append(w.log.Steps, Step{List: l})
	})
	return w.listed
}

// begin begins its log in a history.
func (w *watcher) begin(h *History) {
	w.log = &Watching{Name: w.Name, Scope: w.Scope, Quiet: w.Quiet}
	w.run.timelineOf[w.log] = h
	h.addWatcher(w.log)
}

// stream is one watch, from its request to its end.
func (w *watcher) stream(ctx context.Context) *Stream {
	if w.Leave > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Leave)
		defer cancel()
	}
	from := w.through.Load()
	s := &Stream{Gateway: w.gateway, From: from, Sent: time.Now()}
	w.run.edit(func() { w.open = s })
	e := w.follow(ctx, from, s)
	w.run.edit(func() {
		s.End, s.Code, s.Why, s.Ended = e.end, e.code, e.why, time.Now()
		if ctx.Err() != nil && s.End != Clean && s.End != Failed {
			s.End = Closed
		}
		w.log.Steps = append(w.log.Steps, Step{Stream: s})
		w.open, w.listed = nil, s.Code != gone
	})
	return s
}

// ending is how a stream ended.
type ending struct {
	end  End
	code int
	why  string
}

// follow requests a watch after a revision, and reads it to its end.
func (w *watcher) follow(ctx context.Context, from int64, s *Stream) ending {
	var parameters []string
	if w.Bookmarks {
		parameters = append(parameters, "allowWatchBookmarks", "1")
	}
	if w.Timeout > 0 {
		parameters = append(parameters, "timeoutSeconds", fmt.Sprint(int(w.Timeout.Seconds())))
	}
	path, header := w.Dialect.request(w.Scope, from, parameters...)
	resp, err := w.ask(ctx, path, header)
	if err != nil {
		return ending{end: Unreachable, why: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return ending{Refused, resp.StatusCode, readText(resp.Body)}
	}
	w.run.edit(func() { s.Opened = time.Now() })
	w.run.opened.Add(1)
	defer w.run.opened.Add(-1)
	return w.read(bufio.NewReader(resp.Body), s)
}

// read reads a stream to its end.
func (w *watcher) read(reader *bufio.Reader, s *Stream) ending {
	frames := reading{Dialect: w.Dialect, frames: &w.run.frames}
	e := ending{end: Clean}
	for {
		line, err := readLine(reader)
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return e
		case err != nil:
			e.end, e.why = Cut, err.Error()
			return e
		}
		complete, err := frames.take(line)
		if err != nil {
			return ending{end: Malformed, why: err.Error()}
		}
		w.run.edit(func() {
			for _, frame := range complete {
				s.Lines = append(s.Lines, frame)
				if frame.Type == failed {
					e = ending{Failed, frame.Code, string(line)}
					continue
				}
				w.through.Store(frame.Object.Revision)
			}
		})
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
