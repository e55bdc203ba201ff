package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// faulty is a publisher that acknowledges an event which it does not send.
type faulty struct {
	*control
	lost int // the event that is only acknowledged
}

func (p *faulty) publish(ctx context.Context, i int) (int64, error) {
	if i != p.lost {
		return p.control.publish(ctx, i)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest++
	return p.newest, nil
}

// TestFanOutFindsALostEvent checks that a run passes with a correct server, and fails when one event is lost.
func TestFanOutFindsALostEvent(t *testing.T) {
	s := newTestStage(t)
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	f, err := s.openNullFanOut(t.Context(), o, flushPerBatch, plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.run(t.Context(), load{events: 50}); err != nil || got["rate"] <= 0 {
		t.Fatalf("a correct server: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tracked := &faulty{control: f.publisher.(*control), lost: 20}
	f.publisher = tracked
	sound := f.fleet.tracker.Load()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { // 49 of 50 events are delivered
		defer cancel()
		for t := sound; ctx.Err() == nil && (t == sound || t.complete.Load() < 49 || acknowledged(t) < 50); t = f.fleet.tracker.Load() {
			_ = program.Pause(ctx, time.Millisecond)
		}
	})
	if _, err := f.run(ctx, load{events: 50}); err == nil || !strings.Contains(err.Error(), "150 of 150 watchers") || !strings.Contains(err.Error(), "49 events, want 50") {
		t.Errorf("an event is lost: %v", err)
	}
}

func acknowledged(t *tracker) (n int) {
	for i := range t.acked {
		if t.acked[i].Load() != 0 {
			n++
		}
	}
	return n
}

// TestFanOutFindsADeadServer checks that a broken stream ends the run at once, with an error.
func TestFanOutFindsADeadServer(t *testing.T) {
	s := newTestStage(t)
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	f, err := s.openNullFanOut(t.Context(), o, chunkWrites, plain)
	if err != nil {
		t.Fatal(err)
	}
	f.server.Stop()
	if _, err := f.run(t.Context(), load{events: 50}); err == nil {
		t.Error("no error")
	}
}
