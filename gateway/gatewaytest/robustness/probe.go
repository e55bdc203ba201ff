package robustness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"revtail/gateway/gatewaytest"
)

// Answer is the response of a probe.
type Answer struct {
	Code   int // zero: no response
	Age    int // of the Age header, in seconds; -1: there is none
	Text   string
	Took   time.Duration
	Failed error
}

// Ask sends a request with a JSON body, or none, to a gateway.
func (r *Run) Ask(gateway int, method, path, body string) Answer {
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	began := time.Now()
	a := Answer{Age: -1}
	req, err := http.NewRequestWithContext(ctx, method, r.gateways[gateway].URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if a.Failed = err; err == nil {
		text, _ := io.ReadAll(resp.Body) // a part is enough
		_ = resp.Body.Close()
		a.Code, a.Text = resp.StatusCode, string(text)
		if age, err := strconv.Atoi(resp.Header.Get("Age")); err == nil {
			a.Age = age
		}
	}
	a.Took = time.Since(began)
	return a
}

// honest checks the responses of a gateway that does not reach etcd's majority: requests that need it fail in time with the reason, and
// others are answered with their age.
func (r *Run) honest(gateway int) {
	who := fmt.Sprint("gateway ", gateway)
	mustFail := func(what string, a Answer) {
		switch {
		case a.Failed != nil:
			r.Violate("partition-honest", who, "%s: %v", what, a.Failed)
		case !slices.Contains([]int{http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests}, a.Code):
			r.Violate("partition-honest", who, "%s was answered with %d", what, a.Code)
		case a.Took > 2*honestTime:
			r.Violate("partition-honest", who, "%s failed after %v only", what, a.Took)
		}
		r.Note("%s without a majority: %s: %d after %v", who, what, a.Code, a.Took.Round(time.Millisecond))
	}
	mustFail("a consistent list", r.Ask(gateway, http.MethodGet, Scope{}.URL(), ""))
	mustFail("a create", r.Ask(gateway, http.MethodPost, "/api/v1/namespaces/z/configmaps", manifest("z", "unheard-of", "red", "unheard-of", 0)))
	a := r.Ask(gateway, http.MethodGet, Scope{}.URL("resourceVersion", "0"), "")
	if a.Code != http.StatusOK {
		r.Violate("partition-honest", who, "a list of whatever is there was answered with %d", a.Code)
	}
	if a.Age < 1 {
		r.Violate("partition-honest", who, "a list at any revision has no age: Age %d", a.Age)
	}
	r.Note("%s without a majority: a list at any revision: %d, Age %d", who, a.Code, a.Age)
	if a := r.Ask(gateway, http.MethodGet, "/readyz", ""); a.Code != http.StatusServiceUnavailable {
		r.Violate("partition-honest", who, "/readyz says %d", a.Code)
	}
}

// honestTime is the time for a refusal. A violation is twice of it, because the machine may be busy.
const honestTime = 5 * time.Second

// back measures how long it takes until a gateway lists consistently again.
func (r *Run) back(gateway int) {
	began := time.Now()
	gatewaytest.Until(r.TB, "the gateway is back", func() bool {
		return r.Ask(gateway, http.MethodGet, Scope{}.URL(), "").Code == http.StatusOK
	})
	r.Note("gateway %d lists consistently again after %v", gateway, time.Since(began).Round(time.Millisecond))
}

// told checks that every watching client got the end of its history, and how soon.
func (r *Run) told(h *History, since time.Time) {
	const within = 30 * time.Second
	deadline := since.Add(within)
	waiting := func() (names []string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, w := range h.Watchers {
			if last := w.Steps[len(w.Steps)-1].Stream; last == nil || last.Code != gone {
				names = append(names, w.Name)
			}
		}
		return names
	}
	for len(waiting()) > 0 && time.Now().Before(deadline) {
		r.Wait(20 * time.Millisecond)
	}
	if names := waiting(); len(names) > 0 {
		r.Violate("history-change", "etcd was put back", "%d of %d clients were not told within %v, such as %s", len(names), len(h.Watchers), within, names[0])
	}
	r.Note("all clients were told after %v", time.Since(since).Round(time.Millisecond))
}

// turnBack continues with another history of etcd: an earlier state that equals the known history up to now.
func (r *Run) turnBack() {
	r.recording.stop()
	revision := r.Newest()
	r.edit(func() {
		r.past = append(r.past, r.present)
		r.present = &History{Truth: r.present.Truth.Fork(revision)}
	})
	r.record()
}

// turnAway continues with another history of etcd, of which only the current state is known.
func (r *Run) turnAway() {
	r.recording.stop()
	objects, revision, err := r.etcd.state(r.Context())
	if err != nil {
		r.Fatalf("etcd: %v", err)
	}
	r.edit(func() {
		r.past = append(r.past, r.present)
		r.present = &History{Truth: NewTruth(revision, objects)}
	})
	r.record()
}

// metric returns a metric of a gateway, or of an etcd.
func (r *Run) metric(url, name string) float64 {
	text := gatewaytest.Metric(r.TB, url+"/metrics", name)
	if text == "" {
		return 0
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.Fatalf("metric %s: %v", name, err)
	}
	return value
}

// tool runs a program of etcd.
func (r *Run) tool(name string, args ...string) {
	out, err := exec.CommandContext(r.Context(), gatewaytest.Tool(r.TB, name), args...).CombinedOutput()
	if err != nil {
		r.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
