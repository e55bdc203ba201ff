package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/garbage"
	"revtail/gateway/claim"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
)

// healthTimeout limits the read of etcd in a readiness check.
const healthTimeout = 2 * time.Second

// health serves the health checks.
type health struct {
	etcd         etcdstore.Store
	catalog      *catalog.Catalog
	claim        *claim.Claim
	collector    *garbage.Collector
	shuttingDown func() bool
	problems     func() []string // of etcd; nil: none are known
	encryption   func() []string // problems of the providers; nil: values are stored as they are
	decryption   func() error    // why values cannot be decrypted; nil: that is no condition of readiness
	upstream     func() []string // problems of the kube-apiserver; nil: there is none
}

// check is one condition of readiness.
type check struct {
	name string
	err  error
}

// serveReady answers 200 if requests can be served: etcd answers a linearizable read, the caches are filled, the values of a
// cluster can be decrypted, and the server does not drain. ?verbose shows each condition, and problems that do not affect reads, such as a full disk of etcd.
func (h *health) serveReady(w http.ResponseWriter, r *http.Request) {
	checks := h.readiness(r.Context())
	code, lines := http.StatusOK, new(strings.Builder)
	for _, c := range checks {
		if c.err != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(lines, "[-]%s failed: %v\n", c.name, c.err)
		} else {
			fmt.Fprintf(lines, "[+]%s ok\n", c.name)
		}
	}
	h.warn(lines)
	if code == http.StatusOK && !request.Query(r).Has("verbose") {
		writeText(w, code, "ok")
		return
	}
	fmt.Fprintf(lines, "%s check %s\n", strings.TrimPrefix(r.URL.Path, "/"), map[bool]string{true: "passed", false: "failed"}[code == http.StatusOK])
	writeText(w, code, lines.String())
}

// warn adds a line for each problem with which requests can still be served.
func (h *health) warn(lines *strings.Builder) {
	if h.problems != nil {
		warnOf(lines, "etcd-health", h.problems())
	}
	if h.upstream != nil {
		warnOf(lines, "kube-apiserver", h.upstream())
	}
	if h.encryption != nil {
		warnOf(lines, "encryption", h.encryption())
	}
	warnOf(lines, "claim", h.claimProblems())
	var stopped []string
	if stop := h.collector.Stopped(); stop != nil {
		stopped = []string{stop.String()}
	}
	warnOf(lines, "garbage-collector", stopped)
}

func warnOf(lines *strings.Builder, check string, problems []string) {
	for _, problem := range problems {
		fmt.Fprintf(lines, "[!]%s %s\n", check, problem)
	}
	if len(problems) == 0 {
		fmt.Fprintf(lines, "[+]%s ok\n", check)
	}
}

// claimProblems returns a problem if the data is not the server's own.
func (h *health) claimProblems() []string {
	state := h.claim.State()
	switch {
	case state.File != "":
		return []string{"this is " + state.File + ": it can only be read"}
	case !state.IsForeign():
		return nil
	case state.Writable:
		return []string{"the data is not revtail's own: " + state.Reason + "; clients' writes are carried out (--writable), and revtail does nothing else"}
	}
	return []string{"the data is not revtail's own: " + state.Reason + "; it is served read-only"}
}

func (h *health) readiness(ctx context.Context) []check {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, err := h.etcd.Revision(ctx)
	checks := []check{{"etcd", err}}
	caches := h.filling()
	var definitions, shutdown error
	if !h.catalog.Complete() {
		definitions = errors.New("custom resources are still being read")
	}
	if h.shuttingDown() {
		shutdown = status.ErrDraining
	}
	if h.decryption != nil {
		checks = append(checks, check{"decryption", h.decryption()})
	}
	return append(checks, check{"caches", caches}, check{"definitions", definitions}, check{"shutdown", shutdown})
}

// slowFill is the time after which a fill is shown with its progress.
const slowFill = 2 * time.Second

// filling returns an error with the number of caches that are being filled, and the progress of those that take long; nil: all are filled.
func (h *health) filling() error {
	filling, wanted, slow := 0, 0, []string(nil)
	for res, cache := range h.catalog.Current().Caches {
		if !cache.Wanted() {
			continue
		}
		stats := cache.Stats()
		if wanted++; stats.Ready {
			continue
		}
		filling++
		if now := stats.Filling; now.Of > 0 && time.Since(now.Began) > slowFill {
			slow = append(slow, fmt.Sprintf("%s: %d of %d objects in %.0f s", res.QualifiedName(), now.Read, now.Of, time.Since(now.Began).Seconds()))
		}
	}
	if filling == 0 {
		return nil
	}
	slices.Sort(slow)
	return errors.New(strings.Join(append([]string{fmt.Sprintf("%d of %d are being filled", filling, wanted)}, slow...), "; "))
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // the client may have gone away
}

// collectors returns the metrics of the claim and the garbage collector.
func (h *health) collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		gauge("revtail_foreign_data", "1 while the data under --etcd-prefix is not revtail's own: revtail then writes nothing without a client's request.", func() int {
			if h.claim.State().IsForeign() {
				return 1
			}
			return 0
		}),
		gauge("revtail_garbage_collector_held_objects", "Objects for which the garbage collector has stopped: their owners are gone without a DELETE request, and they are more than it deletes without an operator.", func() int {
			if stop := h.collector.Stopped(); stop != nil {
				return stop.Objects
			}
			return 0
		}),
	}
}
