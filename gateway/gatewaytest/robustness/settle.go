package robustness

import (
	"fmt"
	"time"

	"revtail/gateway/gatewaytest"
)

// settleTime is the time for all clients to catch up in the end.
const settleTime = 40 * time.Second

// settle stops the writers, waits until all clients have all writes, or their time is over, and stops the clients.
func (r *Run) settle() {
	r.writing.stop()
	r.catchUp()
	r.watching.stop()
	r.recording.stop()
}

// catchUp waits until all clients have all writes, or their time is over, and returns etcd's state, which the truth must equal.
func (r *Run) catchUp() (objects []*Object, newest int64) {
	h := r.history()
	objects, newest, err := r.etcd.state(r.Context())
	if err != nil {
		r.Fatalf("etcd: %v", err)
	}
	patient := time.After(settleTime)
	for !r.settled(h, newest) {
		select {
		case <-patient:
			return objects, newest
		case <-time.After(20 * time.Millisecond):
		}
	}
	want := make(map[string]Object)
	for _, o := range objects {
		want[o.Key()] = *o
	}
	var items []Object
	for _, o := range h.Truth.State(Scope{}, newest) {
		items = append(items, o)
	}
	compareState(items, want, func(format string, args ...any) { r.Violate("agreement", "the recorder of the truth", format, args...) })
	for i := range r.gateways {
		l, err := r.list(r.Context(), i, Consistent, Scope{}, 0)
		if err != nil {
			r.Violate("final-state", fmt.Sprint("gateway ", i), "it cannot list: %v", err)
			continue
		}
		l.Reader = "the end"
		h.addList(l)
	}
	return objects, newest
}

func (r *Run) settled(h *History, newest int64) bool {
	if h.Truth.Through() < newest {
		return false
	}
	for _, w := range r.watchers {
		view := h.Truth.View(w.Scope)
		if len(view) > 0 && w.through.Load() < view[len(view)-1].Object.Revision {
			return false
		}
	}
	return true
}

// pauseWriters stops the writers and waits until all clients have all writes.
func (r *Run) pauseWriters() {
	r.writing.stop()
	h, newest := r.history(), r.Newest()
	gatewaytest.Until(r.TB, "all clients have caught up", func() bool { return r.settled(h, newest) })
}

// Newest returns etcd's newest revision.
func (r *Run) Newest() int64 {
	_, newest, err := r.etcd.state(r.Context())
	if err != nil {
		r.Fatalf("etcd: %v", err)
	}
	return newest
}
