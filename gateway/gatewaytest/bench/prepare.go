package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"revtail/gateway/gatewaytest/program"
)

// prepare finds or builds the programs, and raises the limit of open files of this process.
func (s *stage) prepare(ctx context.Context, o options) (err error) {
	switch {
	case o.kubernetes:
		s.size = kubernetesSize(o.quick)
	case o.quick:
		s.size = quickSize()
	}
	if o.quick {
		s.rounds = 1
	}
	if o.rounds > 0 {
		s.rounds = o.rounds
	}
	if err := s.raiseFileLimit(); err != nil {
		return err
	}
	if s.etcdProgram, err = tool(o.etcd); err != nil {
		return err
	}
	if o.kubernetes {
		if s.kubeAPIServerProgram, err = tool(o.kubeAPIServer); err != nil {
			return err
		}
	}
	binary := o.binary
	if binary == "" {
		if binary, err = s.build(ctx, ".", "revtail"); err != nil {
			return err
		}
	}
	binary, err = filepath.Abs(binary)
	s.products = []subject{{name: revtail, binary: binary}}
	return err
}

// tool returns the absolute path of a program, which has to exist.
func tool(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: `make tools` builds it", err)
	}
	return filepath.Abs(path)
}

// build builds the product from the sources in a folder.
func (s *stage) build(ctx context.Context, source, name string) (string, error) {
	s.say("building %s", name)
	out := filepath.Join(s.dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "./cmd/revtail") //nolint:gosec // the name is ours
	cmd.Dir = source
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, output)
	}
	return out, nil
}

// spareFiles is the number of open files of a process besides the connections of its watchers.
const spareFiles = 500

// raiseFileLimit asks for as many open files as the system allows, which the peers and the product inherit. With a low limit, fewer
// watchers are opened.
func (s *stage) raiseFileLimit() error {
	limit, err := program.RaiseFileLimit()
	if err != nil {
		return err
	}
	if most := int(limit) - spareFiles; most < s.size.idle[plain] {
		s.say("only %d open files are allowed: %d idle watchers instead of %d", limit, most, s.size.idle[plain])
		s.size.idle[plain] = most
	}
	return nil
}
