package abuse

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// delays are the times from the beginning of a write to its event, sorted.
type delays []time.Duration

func (d delays) percentile(p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[min(len(d)-1, len(d)*p/100)]
}

func (d delays) most() time.Duration { return d.percentile(100) }

// victim writes an object again and again, and waits for its event.
type victim struct {
	also func(ctx context.Context, s *scene, n int) error // after each write; nil: nothing
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	delays  delays
	refused int
}

const victimPath = "/api/v1/namespaces/victim/configmaps"

// startVictim starts writing, and doing something else too, unless also is nil. The victim ends with end.
func startVictim(s *scene, also func(ctx context.Context, s *scene, n int) error) *victim {
	s.Helper()
	s.victim.Create(s, victimPath, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"},"data":{"n":"0"}}`)
	ctx, stop := context.WithCancel(s.Context())
	v := &victim{also: also, stop: stop}
	lines := followLines(ctx, s.victim, victimPath+"?watch&resourceVersion="+revisionOf(s, victimPath+"/probe"))
	v.done.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			v.step(ctx, s, lines, n)
			wait(ctx, 20*time.Millisecond)
		}
	})
	return v
}

// step writes once.
func (v *victim) step(ctx context.Context, s *scene, lines <-chan string, n int) {
	began := time.Now()
	if err := v.besides(ctx, s, n); err != nil && ctx.Err() == nil {
		v.suffer(s, err)
		return
	}
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"},"data":{"n":"%d"}}`, n)
	answer, err := s.victim.Try(ctx, http.MethodPut, victimPath+"/probe", body)
	if ctx.Err() != nil {
		return
	}
	if err != nil || answer.Code != http.StatusOK {
		v.suffer(s, fmt.Errorf("the victim's write: %d %w %.200s", answer.Code, err, answer.Body))
		return
	}
	select {
	case _, ok := <-lines:
		if !ok && ctx.Err() == nil {
			s.Error("the watch of the victim has ended")
			v.stop()
			return
		}
	case <-time.After(longest):
	case <-ctx.Done():
		return
	}
	v.mu.Lock()
	v.delays = append(v.delays, time.Since(began))
	v.mu.Unlock()
}

// besides does what the victim does besides writing.
func (v *victim) besides(ctx context.Context, s *scene, n int) error {
	if v.also == nil {
		return nil
	}
	return v.also(ctx, s, n)
}

// suffer counts a request of the victim that was refused.
func (v *victim) suffer(s *scene, err error) {
	s.Log(err)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refused++
}

// take returns the delays since the last call.
func (v *victim) take() delays {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.delays
	v.delays = nil
	slices.Sort(out)
	return out
}

// end stops the victim, and returns the delays since take and how many of its requests were refused.
func (v *victim) end() (delays, int) {
	v.stop()
	v.done.Wait()
	return v.take(), v.refused
}
