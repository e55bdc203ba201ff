package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/program"
)

// state returns the state of a process, as /proc/PID/stat has it: T is stopped by a signal.
func state(t *testing.T, p *program.Process) string {
	t.Helper()
	stat, err := os.ReadFile(p.File("stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

// TestSolo checks that the processes of a contender are frozen except during its rounds, and that a frozen one can be closed.
func TestSolo(t *testing.T) {
	s := newTestStage(t)
	var first, second *peer
	during := ""
	res := s.measure(t.Context(), row{open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		for name, p := range map[string]**peer{"first": &first, "second": &second} {
			var err error
			if *p, err = s.startNull(ctx, flushPerBatch, plain); err != nil {
				return o.end(err)
			}
			o.own((*p).Stop)
			if err := o.addSolo(name, solo{[]*program.Process{(*p).Process}, func(context.Context) (sample, error) {
				if name == "first" {
					during = state(t, first.Process) + state(t, second.Process)
				}
				return sample{}, nil
			}}); err != nil {
				return o.end(err)
			}
		}
		return o.end(nil)
	}})
	if res.err != nil {
		t.Fatal(res.err)
	}
	if !strings.HasSuffix(during, "T") || strings.HasPrefix(during, "T") {
		t.Errorf("while the first is measured, they are %q", during)
	}
	<-first.Ended
	<-second.Ended
}

// TestSoloHasEnded checks that a process that has ended fails the round.
func TestSoloHasEnded(t *testing.T) {
	s := newTestStage(t)
	p, err := s.startNull(t.Context(), flushPerBatch, plain)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if err := new(opening).addSolo("null", solo{processes: []*program.Process{p.Process}}); err == nil || !strings.Contains(err.Error(), "null") {
		t.Errorf("no process: %v", err)
	}
}
