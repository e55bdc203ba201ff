package gatewaytest_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// TestKill checks that each acknowledged write exists unchanged after kill -9. REVTAIL_KILLS is the number of kills.
func TestKill(t *testing.T) {
	t.Parallel()
	kills := 6
	if text := os.Getenv("REVTAIL_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatalf("REVTAIL_KILLS: %v", err)
		}
	}
	gw := gatewaytest.Start(t)
	l := &ledger{gateway: gw, entries: make(map[string]entry)}
	for life := range kills {
		l.writeUntilKilled(t, life)
		gw.Restart(t)
		if l.check(t); t.Failed() {
			return
		}
	}
	t.Logf("%d acknowledged objects over %d kills", len(l.entries), kills)
}

// ledger writes objects, and records the acknowledged ones.
type ledger struct {
	gateway *gatewaytest.Gateway

	mu      sync.Mutex // guards the field below
	entries map[string]entry
}

// entry is the known state of an object.
type entry struct {
	object  gatewaytest.Object // as acknowledged
	pending string             // the value of a write with an unknown outcome; empty: none
}

// writeUntilKilled writes as fast as it can until enough writes are acknowledged, then kills the gateway between two of them.
func (l *ledger) writeUntilKilled(t *testing.T, life int) {
	t.Helper()
	const (
		writers = 8
		enough  = 100
	)
	var objects atomic.Int32
	reached := make(chan struct{})
	var writing sync.WaitGroup
	defer writing.Wait()
	for writer := range writers {
		writing.Go(func() {
			for n := 0; ; n++ {
				if err := l.write(t, fmt.Sprintf("life-%d-writer-%d-%d", life, writer, n)); err != nil {
					return // the gateway has ended
				}
				if objects.Add(1) == enough {
					close(reached)
				}
			}
		})
	}
	select {
	case <-reached:
	case <-time.After(gatewaytest.Patience):
		t.Errorf("%d objects after %v, want %d", objects.Load(), gatewaytest.Patience, enough)
	}
	l.gateway.Kill(t)
}

// write creates an object and changes it. An error means that no response arrived.
func (l *ledger) write(t *testing.T, name string) error {
	t.Helper()
	created, err := l.gateway.Try(t.Context(), http.MethodPost, configMaps, gatewaytest.ConfigMap(name, "created"))
	if err != nil {
		return err
	}
	l.acknowledge(t, created, http.StatusCreated, "changed")
	changed, err := l.gateway.Try(t.Context(), http.MethodPatch, configMaps+"/"+name, `{"data":{"value":"changed"}}`)
	if err != nil {
		return err
	}
	l.acknowledge(t, changed, http.StatusOK, "")
	return nil
}

// acknowledge records a response. pending is the value of the next write.
func (l *ledger) acknowledge(t *testing.T, answer gatewaytest.Answer, want int, pending string) {
	t.Helper()
	if answer.Code != want {
		t.Errorf("a write was answered with %d, want %d: %s", answer.Code, want, answer.Body)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[answer.Object.Metadata.Name] = entry{answer.Object, pending}
}

// check compares the ledger with the stored objects, and decides the pending writes.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	list := l.gateway.Get(t, configMaps)
	stored := make(map[string]gatewaytest.Object)
	for _, item := range list.Items {
		stored[item.Metadata.Name] = item
	}
	for name, e := range l.entries {
		object, ok := stored[name]
		if !ok {
			t.Errorf("%s was acknowledged at %s, but does not exist", name, e.object.Metadata.ResourceVersion)
			continue
		}
		later := object.Revision(t) > e.object.Revision(t)
		if !cmp.Equal(object, e.object) && (!later || object.Data["value"] != e.pending) {
			t.Errorf("%s differs from the acknowledged object (-acknowledged +stored):\n%s", name, cmp.Diff(e.object, object))
		}
		if object.Revision(t) > list.Revision(t) {
			t.Errorf("%s is at %d, later than the list at %d", name, object.Revision(t), list.Revision(t))
		}
		l.entries[name] = entry{object: object}
	}
}
