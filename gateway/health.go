package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"revtail/gateway/console"
)

// healthTimeout bounds the read by which readiness is found out.
const healthTimeout = 2 * time.Second

func (s *Server) serveLive(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok")
}

// check is one condition of readiness.
type check struct {
	name string
	err  error
}

// serveReady answers 200 when requests can be served: etcd answers a linearizable read, the caches are filled and the server
// is not about to stop. ?verbose shows each condition, and problems of etcd, such as a full disk, that take nothing from the readers.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	checks := s.readiness(r.Context())
	code, lines := http.StatusOK, new(strings.Builder)
	for _, c := range checks {
		if c.err != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(lines, "[-]%s failed: %v\n", c.name, c.err)
		} else {
			fmt.Fprintf(lines, "[+]%s ok\n", c.name)
		}
	}
	s.warn(lines)
	switch {
	case queryOf(r).Has("verbose"), code != http.StatusOK:
		fmt.Fprintf(lines, "%s check %s\n", strings.TrimPrefix(r.URL.Path, "/"), map[bool]string{true: "passed", false: "failed"}[code == http.StatusOK])
		writeText(w, code, lines.String())
	default:
		writeText(w, code, "ok")
	}
}

// warn adds a line for each problem that keeps nothing from being served.
func (s *Server) warn(lines *strings.Builder) {
	if s.options.Problems != nil {
		warnOf(lines, "etcd-health", s.options.Problems())
	}
	warnOf(lines, "claim", s.claimProblems())
	warnOf(lines, "garbage-collector", s.collectorProblems())
}

func warnOf(lines *strings.Builder, check string, problems []string) {
	for _, problem := range problems {
		fmt.Fprintf(lines, "[!]%s %s\n", check, problem)
	}
	if len(problems) == 0 {
		fmt.Fprintf(lines, "[+]%s ok\n", check)
	}
}

// claimProblems say that the data is not the server's own.
func (s *Server) claimProblems() []string {
	state := s.options.Claim.State()
	switch {
	case !s.options.Claim.State().IsForeign():
		return nil
	case state.Writable:
		return []string{"the data is not revtail's own: " + state.Reason + "; clients' writes are carried out (--writable), and revtail does nothing else"}
	}
	return []string{"the data is not revtail's own: " + state.Reason + "; it is served read-only"}
}

// collectorProblems say that objects are not collected.
func (s *Server) collectorProblems() []string {
	if stop := s.store.collector.Stopped(); stop != nil {
		return []string{stop.String()}
	}
	return nil
}

func (s *Server) readiness(ctx context.Context) []check {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, err := s.options.Store.Revision(ctx)
	checks := []check{{"etcd", err}}
	filling := 0
	caching := s.catalog.current().caches
	for _, cache := range caching {
		if !cache.Stats().Ready {
			filling++
		}
	}
	var caches, definitions, shutdown error
	if !s.catalog.complete() {
		definitions = errors.New("custom resources are still being read")
	}
	if filling > 0 {
		caches = fmt.Errorf("%d of %d are being filled", filling, len(caching))
	}
	if s.watches.registry.shuttingDown() {
		shutdown = errDraining
	}
	return append(checks, check{"caches", caches}, check{"definitions", definitions}, check{"shutdown", shutdown})
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // a client that has gone away needs no answer
}

// serveRoot tells a person where things are, and leads a browser there.
func (s *Server) serveRoot(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if wantsPage(r) {
		http.Redirect(w, r, console.Path, http.StatusSeeOther)
		return
	}
	writeText(w, http.StatusOK, `revtail: list and watch etcd over HTTP

  /api/v1, /apis            which resources there are; try /api/v1/configmaps?watch=true
  /v1/keys, /v1/txn         any key of etcd that is opened; /v1/openapi.json describes that
  /ui/                      a page that shows all this, for a browser
  /readyz?verbose, /livez   health
  /metrics                  figures for Prometheus
  /version                  what runs here
`)
}
