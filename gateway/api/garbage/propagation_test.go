package garbage

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	orphaning  = `,"deletionTimestamp":"2026-11-21T00:00:00Z","finalizers":["orphan"]`
	foreground = `,"deletionTimestamp":"2026-11-21T00:00:00Z","finalizers":["foregroundDeletion"]`
	held       = `,"finalizers":["x/y"]`
)

// TestPropagation checks whether an owner that waits for its dependents is deleted, and whether they are.
func TestPropagation(t *testing.T) {
	tests := []struct {
		name  string
		begin func(*world)
		then  func(*world)
		left  []string
	}{
		{name: "orphans stay", begin: func(w *world) {
			w.write("Parent/a/p", orphaning)
			w.put("Child/a/c1", "Parent/p!")
			w.put("Child/a/c2", "Parent/p")
			w.put("Child/a/c3", "Child/c2")
		}, left: []string{"Child/a/c1", "Child/a/c2", "Child/a/c3"}},
		{name: "orphans of a cluster-wide owner stay", begin: func(w *world) {
			w.write("Global/g", orphaning)
			w.put("Child/a/c", "Global/g")
			w.put("Child/b/c", "Global/g")
		}, left: []string{"Child/a/c", "Child/b/c"}},
		{name: "an orphan of one owner is still another one's dependent", begin: func(w *world) {
			w.write("Parent/a/p1", orphaning)
			w.put("Parent/a/p2")
			w.put("Child/a/c", "Parent/p1", "Parent/p2")
		}, then: func(w *world) { w.remove("Parent/a/p2") }, left: []string{}},
		{name: "an owner waits for other finalizers after its orphans", begin: func(w *world) {
			w.write("Parent/a/p", strings.Replace(orphaning, `"orphan"`, `"orphan","x/y"`, 1))
			w.put("Child/a/c", "Parent/p")
		}, then: func(w *world) { w.remove("Parent/a/p") }, left: []string{"Child/a/c"}},
		{name: "in the foreground all are deleted", begin: func(w *world) {
			w.write("Parent/a/p", foreground)
			w.put("Child/a/c1", "Parent/p!")
			w.put("Child/a/c2", "Child/c1!")
			w.put("Child/a/c3", "Parent/p")
			w.put("Child/a/other")
		}, left: []string{"Child/a/other"}},
		{name: "in the foreground an owner waits for a blocking dependent", begin: func(w *world) {
			w.write("Parent/a/p", foreground)
			w.write("Child/a/c1", held, "Parent/p!")
		}, left: []string{"Parent/a/p", "Child/a/c1"}},
		{name: "in the foreground an owner is deleted after its blocking dependent", begin: func(w *world) {
			w.write("Parent/a/p", foreground)
			w.write("Child/a/c1", held, "Parent/p!")
		}, then: func(w *world) { w.remove("Child/a/c1") }, left: []string{}},
		{name: "in the foreground an owner waits for the dependent of its dependent", begin: func(w *world) {
			w.write("Parent/a/p", foreground)
			w.put("Child/a/c1", "Parent/p!")
			w.write("Child/a/c2", held, "Child/c1!")
		}, left: []string{"Parent/a/p", "Child/a/c1", "Child/a/c2"}},
		{name: "in the foreground an owner does not wait for a dependent that does not block", begin: func(w *world) {
			w.write("Parent/a/p", foreground)
			w.write("Child/a/c1", held, "Parent/p")
		}, left: []string{"Child/a/c1"}},
		{name: "in the foreground another owner keeps a dependent", begin: func(w *world) {
			w.write("Parent/a/p1", foreground)
			w.put("Parent/a/p2")
			w.put("Child/a/c", "Parent/p1!", "Parent/p2!")
		}, left: []string{"Parent/a/p2", "Child/a/c"}},
		{name: "in the foreground an owner of a kind that is not served keeps a dependent", begin: func(w *world) {
			w.write("Parent/a/p", foreground)
			w.put("Child/a/c", "Parent/p!", "Unknown/u")
		}, left: []string{"Child/a/c"}},
		{name: "two owners in the foreground", begin: func(w *world) {
			w.write("Parent/a/p1", foreground)
			w.write("Parent/a/p2", foreground)
			w.put("Child/a/c", "Parent/p1!", "Parent/p2!")
		}, left: []string{}},
		{name: "a cycle in the foreground", begin: func(w *world) {
			w.write("Child/a/c1", foreground, "Child/c3!")
			w.put("Child/a/c2", "Child/c1!")
			w.put("Child/a/c3", "Child/c2!")
		}, left: []string{}},
		{name: "all of a cycle in the foreground", begin: func(w *world) {
			w.write("Child/a/c1", foreground, "Child/c2!")
			w.write("Child/a/c2", foreground, "Child/c1!")
		}, left: []string{}},
		{name: "an object that owns itself", begin: func(w *world) {
			w.write("Child/a/c", foreground, "Child/c!")
		}, left: []string{}},
		{name: "a finalizer alone deletes nothing", begin: func(w *world) {
			w.write("Parent/a/p", `,"finalizers":["foregroundDeletion"]`)
			w.put("Child/a/c", "Parent/p!")
		}, left: []string{"Parent/a/p", "Child/a/c"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				test.begin(w)
				w.start()
				after(time.Minute)
				if test.then != nil {
					test.then(w)
					after(time.Second) // much shorter than the pause of a waiting owner
				}
				w.expect(test.left...)
			})
		})
	}
}

// TestFailedPropagationIsRepeated checks that no dependent is lost while etcd is unavailable, because the owner waits.
func TestFailedPropagationIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.setHook(func(string) error { return errors.New("no") })
		w.write("Parent/a/p", foreground)
		w.put("Child/a/c", "Parent/p!")
		w.start()
		after(time.Minute)
		w.expect("Parent/a/p", "Child/a/c")
		w.setHook(nil)
		after(maxPause)
		w.expect()
	})
}
