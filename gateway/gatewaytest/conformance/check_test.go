package conformance

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is the limit for the trial of one statement. Only a failing one takes that long, unless -long is given.
const patience = 45 * time.Second

// check is one trial of one statement: a *testing.T whose failures are evaluated at the end, with its own namespace.
type check struct {
	t      *testing.T
	ctx    context.Context // ends with patience
	server *server
	cast   cast
	ns     string

	mu       sync.Mutex // guards the fields below: some statements take several goroutines
	failures []string
	notRun   string // the reason, if it is not run
}

// trials numbers the namespaces; the start time distinguishes those of two runs.
var (
	trials  atomic.Int64
	started = strconv.FormatInt(time.Now().UnixNano()%1e12, 36)
)

func newCheck(t *testing.T, s *server, kinds cast) *check {
	t.Helper()
	limit := patience
	if *longFlag {
		limit += 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return &check{t: t, ctx: ctx, server: s, cast: kinds, ns: fmt.Sprintf("conf-%s-%d", started, trials.Add(1))}
}

// judge runs a statement and returns its verdict. A statement in notYet is expected to fail.
func (c *check) judge(name string, try func(*check)) verdict {
	c.t.Helper()
	ended := make(chan struct{})
	go func() { // because Fatalf ends this goroutine, and not the test, there is always a verdict
		defer close(ended)
		c.openNamespace(c.ns)
		try(c)
	}()
	<-ended
	c.mu.Lock()
	defer c.mu.Unlock()
	expected := *baseFlag == "" && (slices.Contains(notYet, name) || slices.Contains(notYet, c.cast.name+": "+name))
	switch {
	case c.notRun != "":
		c.t.Log("not run: " + c.notRun)
		return verdict{notRun, c.notRun}
	case len(c.failures) > 0 && expected:
		c.t.Log("not yet")
		return verdict{notYetKept, c.failures[0]}
	case len(c.failures) > 0:
		c.t.Fail()
		return verdict{failed, c.failures[0]}
	case expected:
		c.t.Errorf("this passes: remove it from notYet")
	}
	return verdict{passed, ""}
}

// openNamespace creates a namespace, which is deleted with the check. A server may have no namespaces.
func (c *check) openNamespace(name string) {
	c.do(http.MethodPost, "/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
	c.t.Cleanup(func() {
		last := c.detached()
		for _, f := range c.cast.distinct() {
			last.quietly(http.MethodDelete, f.collection(name), "")
		}
		last.quietly(http.MethodDelete, "/api/v1/namespaces/"+name, "")
	})
}

// detached returns the check for its cleanups, in which its own context has ended.
func (c *check) detached() *check {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return &check{t: c.t, ctx: ctx, server: c.server, cast: c.cast, ns: c.ns}
}

// quietly sends a request whose response does not matter; a body is a merge patch.
func (c *check) quietly(method, path, body string) {
	request, err := http.NewRequestWithContext(c.ctx, method, c.server.base+path, strings.NewReader(body))
	if err != nil {
		return
	}
	if body != "" {
		request.Header.Set("Content-Type", mergePatch)
	}
	if response, err := transport.RoundTrip(request); err == nil {
		_, _ = readAll(response)
	}
}

// Errorf records that the statement does not hold.
func (c *check) Errorf(format string, args ...any) {
	c.t.Helper()
	c.mu.Lock()
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
	c.mu.Unlock()
	c.t.Logf(format, args...)
}

// Fatalf is Errorf, and ends the trial.
func (c *check) Fatalf(format string, args ...any) {
	c.t.Helper()
	c.Errorf(format, args...)
	runtime.Goexit()
}

// NotRun ends the trial without a verdict.
func (c *check) NotRun(format string, args ...any) {
	c.mu.Lock()
	c.notRun = fmt.Sprintf(format, args...)
	c.mu.Unlock()
	runtime.Goexit()
}

// equal compares two values; what names them.
func (c *check) equal(what string, got, want any) {
	c.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.Errorf("%s: got %.600s, want %.600s", what, g, w)
	}
}

// eventually repeats a function until it returns true, or the check's time is over.
func (c *check) eventually(what string, so func() bool) {
	c.t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for !so() {
		select {
		case <-retry.C:
		case <-c.ctx.Done():
			c.Fatalf("never: %s", what)
		}
	}
}

// each returns the collections of all parts; a kind with several parts is in it once.
func (c *check) each() []collection {
	var all []collection
	for _, f := range c.cast.distinct() {
		all = append(all, collection{c, f, c.ns})
	}
	return all
}

// simple, rich and strict are collections in the check's namespace; see cast.
func (c *check) simple() collection { return collection{c, c.cast.simple, c.ns} }
func (c *check) rich() collection   { return collection{c, c.cast.rich, c.ns} }
func (c *check) strict() collection { return collection{c, c.cast.strict, c.ns} }
