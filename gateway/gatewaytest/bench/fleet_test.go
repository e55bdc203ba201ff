package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// faulty is a publisher whose events are acknowledged, and do not all arrive.
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

// TestFanOutFindsWhatIsLost: the same run that passes with a sound server fails when one event is lost.
func TestFanOutFindsWhatIsLost(t *testing.T) {
	s := newTestStage(t)
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	f, err := s.openNullFanOut(t.Context(), o, flushPerBatch, plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.run(t.Context(), load{events: 50}); err != nil || got["rate"] <= 0 {
		t.Fatalf("a sound server: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tracked := &faulty{control: f.publisher.(*control), lost: 20}
	f.publisher = tracked
	sound := f.fleet.tracker.Load()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { // 49 of 50 are all that will ever arrive
		defer cancel()
		for t := sound; ctx.Err() == nil && (t == sound || t.complete.Load() < 49 || acknowledged(t) < 50); t = f.fleet.tracker.Load() {
			_ = pause(ctx, time.Millisecond)
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

// TestFanOutFindsADeadServer: a stream that breaks ends the run at once, and says so.
func TestFanOutFindsADeadServer(t *testing.T) {
	s := newTestStage(t)
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	f, err := s.openNullFanOut(t.Context(), o, chunkWrites, plain)
	if err != nil {
		t.Fatal(err)
	}
	f.server.stop()
	if _, err := f.run(t.Context(), load{events: 50}); err == nil {
		t.Error("no error")
	}
}
