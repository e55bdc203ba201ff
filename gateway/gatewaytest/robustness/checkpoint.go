package robustness

import (
	"fmt"
	"time"

	"revtail/gateway/gatewaytest"
)

// Checkpoint validates the history and continues with a new one, which begins with etcd's state, so that a scenario of any length needs
// little memory. It stops the writers and waits until all clients have all writes; the streams stay open. It returns the validated history.
func (r *Run) Checkpoint(rules Rules) (*History, []Violation) {
	r.writing.stop()
	r.mark()
	objects, newest := r.catchUp()
	r.recording.stop()
	h := r.history()
	next := &History{Truth: NewTruth(newest, objects)}
	if revision := h.compactedAt(time.Now()); revision > 0 {
		next.Compactions = []Compaction{{time.Now(), revision}}
	}
	r.edit(func() {
		r.present = next
		clear(r.timelineOf)
		for _, w := range r.watchers {
			w.split(next)
		}
	})
	r.record()
	r.frames.forget()
	r.items.forget()
	violations := Validate(h, rules)
	if len(violations) > 0 {
		r.past = append(r.past, h) // which the report of the scenario has
	}
	return h, violations
}

// mark changes a key in each namespace, each in a revision of its own, after all other changes. A client that resumes there gets nothing
// again, so that the next history has all that its clients get.
func (r *Run) mark() {
	ctx := r.Context()
	gatewaytest.Until(r.TB, "nothing changes etcd", func() bool {
		var last int64
		for _, namespace := range namespaces {
			if _, err := r.etcd.deleteAll(ctx, prefix+namespace+"/"+leased); err != nil { // they would disappear later
				return false
			}
			value := manifest(namespace, "mark", "red", fmt.Sprint("mark-", time.Now().UnixNano()), 0)
			revision, err := r.etcd.put(ctx, 0, map[string]string{prefix + namespace + "/mark": value})
			if err != nil {
				return false
			}
			last = revision
		}
		return r.Newest() == last
	})
}

// split ends the log of a client that has everything, and begins another one, in the next history, with the state that the client has. Its
// stream continues there. It is called within run.edit.
func (w *watcher) split(next *History) {
	if w.log == nil {
		return
	}
	now, through := time.Now(), w.through.Load()
	if s := w.open; s != nil && !s.Opened.IsZero() {
		done := *s
		done.End, done.Ended = Closed, now
		w.log.Steps = append(w.log.Steps, Step{Stream: &done})
		s.From, s.Lines = through, nil
	}
	state, _ := w.log.fold()
	if w.log = nil; !w.listed {
		return // it will begin there with a list
	}
	l := &List{Reader: w.Name, Kind: Exact, Scope: w.Scope, Asked: through, Revision: through, Sent: now, Answered: now}
	for _, o := range state {
		l.Items = append(l.Items, o)
	}
	w.begin(next)
	w.log.Steps = append(w.log.Steps, Step{List: l})
}
