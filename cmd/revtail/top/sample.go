package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"revtail/cmd/revtail/client"
)

// source is one gateway.
type source struct {
	name   string // its URL
	client *client.Client
}

// sample is what a gateway has answered at one time. Each of the errors says why a part is missing.
type sample struct {
	at         time.Time
	metrics    metrics
	metricsErr error
	watchers   []watcher
	watchErr   error
	flows      flows
	flowsErr   error
	ready      bool
	problems   []string // of /readyz
	readyErr   error
}

// watcher is an open watch in the answer of /debug/watchers.
type watcher struct {
	Resource, Path, User, Client string
	Since                        time.Time
	Events, Bytes                uint64
	CacheRevision, Revision      int64
	LagSeconds                   float64
}

// flows is the answer of /debug/flows.
type flows struct {
	Flows []struct {
		User, Resource, Because string
		InUse                   int64
		Waiting                 int
		Rejected                uint64
	}
	Processor []struct {
		User        string
		UsedSeconds float64
		Waiting     int
		Rejected    uint64
	}
}

// maxAnswer bounds an answer, in bytes: /debug/watchers has 500 for a watch.
const maxAnswer = 256 << 20

// take asks a gateway for everything at once.
func (s source) take(ctx context.Context) *sample {
	out := &sample{at: time.Now()}
	var requests group
	for _, part := range []func(){
		func() {
			var text []byte
			if text, out.metricsErr = s.get(ctx, "/metrics", nil); out.metricsErr == nil {
				out.metrics = parseMetrics(string(text))
			}
		},
		func() {
			var answer struct{ Watchers []watcher }
			out.watchErr = s.decode(ctx, "/debug/watchers", &answer)
			out.watchers = answer.Watchers
		},
		func() { out.flowsErr = s.decode(ctx, "/debug/flows", &out.flows) },
		func() { out.takeReady(s.get(ctx, "/readyz", url.Values{"verbose": {""}})) },
	} {
		requests.Go(part)
	}
	requests.Wait()
	return out
}

// takeReady reads the conditions of readiness: [+] fulfilled, [-] not, [!] a problem with which requests can be served.
func (s *sample) takeReady(text []byte, err error) {
	status := (*client.StatusError)(nil)
	if errors.As(err, &status) && status.Code == http.StatusServiceUnavailable {
		text = []byte(strings.TrimPrefix(status.Message, "503 Service Unavailable: "))
	} else if err != nil {
		s.readyErr = err
		return
	}
	s.ready = err == nil
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "[-]") || strings.HasPrefix(line, "[!]") {
			s.problems = append(s.problems, strings.TrimSpace(line[3:]))
		}
	}
}

func (s source) decode(ctx context.Context, path string, into any) error {
	text, err := s.get(ctx, path, nil)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// get reads an answer. Errors say what an operator can do.
func (s source) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	resp, err := s.client.Do(ctx, client.Request{Path: path, Query: query})
	switch {
	case client.HasCode(err, http.StatusNotFound):
		return nil, fmt.Errorf("%s is not served there: with --admin-listen, name that address with --server; without, the gateway needs --policy-file or only loopback addresses", path)
	case client.HasCode(err, http.StatusForbidden):
		return nil, fmt.Errorf("not allowed: %w", err)
	case err != nil:
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}
