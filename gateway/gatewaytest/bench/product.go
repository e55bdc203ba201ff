package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// product is a revtail process before an external etcd.
type product struct {
	*program.Process
	endpoint endpoint
	startUp  time.Duration // from its start to its ready line
}

// startProduct starts a revtail before an etcd and waits until it is ready. More arguments are flags of serve.
func (s *stage) startProduct(ctx context.Context, binary string, e *etcd, t transport, flags ...string) (*product, error) {
	return s.startGateway(ctx, binary, t, append([]string{"--etcd-endpoints", "http://" + e.endpoint}, flags...))
}

// startEmbedded starts a revtail with an embedded etcd, and connects to that.
func (s *stage) startEmbedded(ctx context.Context, binary string) (*product, *etcd, error) {
	dir, err := os.MkdirTemp(s.dir, "embedded-")
	if err != nil {
		return nil, nil, err
	}
	e := &etcd{dir: dir, endpoint: program.FreeAddress()}
	p, err := s.startGateway(ctx, binary, plain, []string{"--data-dir", dir, "--embedded-client-url", "http://" + e.endpoint})
	if err != nil {
		return nil, nil, err
	}
	e.Process = p.Process
	return p, e, e.connect(ctx)
}

func (s *stage) startGateway(ctx context.Context, binary string, t transport, flags []string) (*product, error) {
	command := []string{binary, "serve", "--listen", "127.0.0.1:0", "--log-level", "warn"}
	if !slices.Contains(flags, "--cluster") {
		command = append(command, "--garbage-collector=false")
	}
	if !slices.Contains(flags, "--cluster") && !slices.Contains(flags, "--keys") {
		command = append(command, "--keys=", "--keys-writable=") // no timeline either, so that etcd's revision does not change between writes
	}
	if t != plain {
		command = append(command, "--tls-cert-file", s.certificate.CertFile, "--tls-private-key-file", s.certificate.KeyFile)
	}
	start := time.Now()
	p, err := program.Launch("revtail", s.dir, append(command, flags...)...)
	if err != nil {
		return nil, err
	}
	ready, err := p.Ready(ctx)
	if err != nil {
		p.Stop()
		if strings.Contains(err.Error(), "unknown flag: --tls") {
			return nil, notMeasured("this revtail has no --tls-cert-file")
		}
		return nil, err
	}
	_, address, ok := strings.Cut(ready["http"], "://")
	if !ok {
		p.Stop()
		return nil, fmt.Errorf("revtail serves %q", ready["http"])
	}
	return &product{Process: p, startUp: time.Since(start), endpoint: endpoint{transport: t, address: address, trust: s.certificate.Trust}}, nil
}

// openProduct starts a revtail that is closed with the next contender.
func (s *stage) openProduct(ctx context.Context, o *opening, binary string, e *etcd, t transport, flags ...string) (*product, error) {
	p, err := s.startProduct(ctx, binary, e, t, flags...)
	if err == nil {
		o.own(p.Stop)
	}
	return p, err
}

// notMeasured is the reason for which a server has no such figure. It is not a failure.
type notMeasured string

func (n notMeasured) Error() string { return "not measured: " + string(n) }
