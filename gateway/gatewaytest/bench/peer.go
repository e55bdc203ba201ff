package main

import (
	"context"
	"fmt"
	"io"

	"revtail/gateway/gatewaytest/program"
)

// runPeer runs this program as one of the servers with which the product is compared.
func runPeer(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "null":
			return runNullFanOut(ctx, args[1:], stdout)
		case "prepared":
			return runPrepared(ctx, args[1:], stdout)
		case "gateway":
			return runNullGateway(ctx, args[1:], stdout)
		}
	}
	return fmt.Errorf("peers: null, prepared, gateway")
}

// peer is a process of this program.
type peer struct {
	*program.Process
	endpoint endpoint
	control  string // address for the events of a null fan-out
}

func (s *stage) startPeer(ctx context.Context, t transport, args ...string) (*peer, error) {
	command := append([]string{s.self, "peer"}, args...)
	if t != plain {
		command = append(command, "-cert", s.certificate.CertFile, "-key", s.certificate.KeyFile)
	}
	p, err := program.Launch(args[0], s.dir, command...)
	if err != nil {
		return nil, err
	}
	ready, err := p.Ready(ctx)
	if err != nil {
		p.Stop()
		return nil, err
	}
	return &peer{Process: p, endpoint: endpoint{transport: t, address: ready["http"], trust: s.certificate.Trust}, control: ready["control"]}, nil
}

func (s *stage) startNull(ctx context.Context, d design, t transport) (*peer, error) {
	return s.startPeer(ctx, t, "null", "-design", string(d))
}

// openPrepared starts a server of prepared bytes that is closed with the next contender.
func (s *stage) openPrepared(ctx context.Context, o *opening, t transport, body string) (*peer, error) {
	p, err := s.startPeer(ctx, t, prepared, "-body", body)
	if err == nil {
		o.own(p.Stop)
	}
	return p, err
}
