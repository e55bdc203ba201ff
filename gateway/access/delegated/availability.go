package delegated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// probeInterval is the time between two probes of a kube-apiserver that answers, retryInterval of one that does not.
	probeInterval = 10 * time.Second
	retryInterval = time.Second
	// maxStart is how long a kube-apiserver may refuse probes that it has admitted before, and count as one that starts: it answers requests before it
	// has read the roles that allow them.
	maxStart = time.Minute
	// maxProbed is how many bytes of the answer to a probe are read.
	maxProbed = 4 << 10
)

// Availability is whether a kube-apiserver answers. Any goroutine may call its methods.
type Availability struct {
	server  string // its URL, for messages
	logger  *slog.Logger
	suspect chan struct{} // capacity 1; asks Run for a probe at once

	mu       sync.Mutex // guards the fields below
	since    time.Time  // when it ceased to answer; zero: it answers
	cause    error      // why
	admitted bool       // it has admitted a probe, and since then it has not refused probes for longer than maxStart
	refused  time.Time  // since when it refuses probes; zero: the last one was not refused
}

// NewAvailability returns the Availability of the kube-apiserver at a URL, which is taken to answer until Run has found otherwise.
func NewAvailability(server string, logger *slog.Logger) *Availability {
	return &Availability{server: server, logger: logger, suspect: make(chan struct{}, 1)}
}

// Away reports whether the kube-apiserver does not answer.
func (a *Availability) Away() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.since.IsZero()
}

// Suspect asks for a probe at once, because a request to the kube-apiserver has failed.
func (a *Availability) Suspect() {
	select {
	case a.suspect <- struct{}{}:
	default:
	}
}

// Problems returns a description of the problem for /readyz?verbose; nil: there is none.
func (a *Availability) Problems() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("%s does not answer since %s: %v; reads that it has allowed in the last %v go on, all other requests get 503",
		a.server, a.since.UTC().Format(time.RFC3339), a.cause, MaxStale)}
}

// Collector returns the metric of the availability.
func (a *Availability) Collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "revtail_kube_apiserver_up", Help: "0 while the kube-apiserver of --kube-apiserver does not answer, or is not ready, else 1.",
	}, func() float64 {
		if a.Away() {
			return 0
		}
		return 1
	})
}

// Run probes the kube-apiserver with clients until ctx ends.
func (a *Availability) Run(ctx context.Context, clients func() *Clients) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.suspect:
			timer.Stop()
		case <-timer.C:
		}
		err := a.Check(ctx, clients())
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			timer.Reset(retryInterval)
		} else {
			timer.Reset(probeInterval)
		}
	}
}

// Check probes the kube-apiserver with clients, and returns an error unless it is ready.
func (a *Availability) Check(ctx context.Context, clients *Clients) error {
	admitted, err := clients.Probe(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return a.observe(admitted, err, time.Now())
}

// observe records the result of a probe, and returns an error unless the kube-apiserver is ready.
func (a *Availability) observe(admitted bool, err error, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && !admitted {
		err = a.refuseLocked(now)
	} else {
		a.admitted, a.refused = a.admitted || admitted, time.Time{}
	}
	switch {
	case err != nil && a.since.IsZero():
		a.since = now
		a.logger.Warn("the kube-apiserver does not answer", "server", a.server, "error", err)
	case err == nil && !a.since.IsZero():
		a.logger.Info("the kube-apiserver answers again", "server", a.server, "away", now.Sub(a.since).Round(time.Second).String())
		a.since = time.Time{}
	}
	a.cause = err
	return err
}

// refuseLocked records a probe that was refused, and returns an error if the kube-apiserver counts as one that starts.
func (a *Availability) refuseLocked(now time.Time) error {
	if !a.admitted {
		return nil // it refuses all probes
	}
	if a.refused.IsZero() {
		a.refused = now
	}
	if now.Sub(a.refused) < maxStart {
		return errStarts
	}
	a.admitted = false
	return nil
}

// errStarts is the cause while a kube-apiserver refuses probes that it has admitted before.
var errStarts = errors.New("/readyz is refused, and was not before: it may not have read its roles yet, or refuses the credential of this server")

// Probe returns an error if the kube-apiserver is not ready. A refusal is no error, because everybody may read /readyz by default, but need not; admitted
// is false then.
func (c *Clients) Probe(ctx context.Context) (admitted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.url, "/")+"/readyz", nil)
	if err != nil {
		return false, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // only the code matters
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxProbed))
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests {
		return false, fmt.Errorf("/readyz answers %s", resp.Status)
	}
	return resp.StatusCode < http.StatusBadRequest, nil
}
