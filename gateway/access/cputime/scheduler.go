// Package cputime shares processors fairly among users, for work whose cost the clients choose: filters, selectors, Tables, projections and
// compression.
package cputime

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// slice is how long a turn lasts before others that wait get theirs. One piece of work may take longer.
	slice = 2 * time.Millisecond
	// busyLimit and waitLimit say when a user asks for too much: its work has waited without a pause for busyLimit, and the turn that is
	// next for waitLimit. A user whose work is late for a while, after a burst, is not refused.
	busyLimit = time.Minute
	waitLimit = time.Second
	// maxDebt is how far a user can be behind the others because of work that was done without a turn.
	maxDebt = 50 * slice
)

// OverloadError says that a user asks for more processor time than its share.
type OverloadError struct {
	User string
	Wait time.Duration // how long the turn has waited
}

func (e *OverloadError) Error() string {
	return fmt.Sprintf("the filters, selectors and Tables of the user %q take more processor time than its share, and have been late for %v: "+
		"use fewer or cheaper ones, and resume at the last resourceVersion", e.User, e.Wait.Round(time.Second))
}

// Scheduler lets a fixed number of turns run at a time, and gives the next one to the user that has used the least processor time since its
// work began to wait (start-time fair queuing). The turns of one user run in the order in which they asked. Its methods may be called by any
// goroutine.
type Scheduler struct {
	mu      sync.Mutex // guards the fields below and those of the accounts
	free    int        // turns that may begin
	clock   time.Duration
	waiting accountHeap
	byUser  map[string]*Account
	used    time.Duration // by all users
	waiters int
	refused uint64
	now     func() time.Time
}

// New returns a scheduler of a number of turns at a time; zero: half of the processors, but one at least, so that the other half remains for
// what no client chooses.
func New(turns int) *Scheduler {
	if turns == 0 {
		turns = max(1, runtime.GOMAXPROCS(0)/2)
	}
	return &Scheduler{free: turns, byUser: make(map[string]*Account), now: time.Now}
}

// Account returns the account of a user; nil if s is nil. The caller calls Release when it needs the account no more.
func (s *Scheduler) Account(user string) *Account {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byUser[user]
	if a == nil {
		a = &Account{scheduler: s, user: user, index: notWaiting}
		s.byUser[user] = a
	}
	a.holders++
	return a
}

// Do calls work in a turn of a user. The error is an *OverloadError; work was not called then.
func (s *Scheduler) Do(user string, work func()) error {
	a := s.Account(user)
	defer a.Release()
	turn := a.Turn()
	defer turn.End()
	if err := turn.Continue(); err != nil {
		return err
	}
	work()
	return nil
}

// nextLocked begins the turns that may begin now.
func (s *Scheduler) nextLocked() {
	for s.free > 0 && len(s.waiting) > 0 {
		a := s.waiting[0]
		s.clock = max(s.clock, a.time)
		if a.overloadedLocked() && len(a.queue) > 1 {
			a.refuseLocked()
		}
		s.free--
		a.takeLocked().begin <- nil
	}
}

// Usage is what a user has used and waits for, in the response of /debug/flows.
type Usage struct {
	User    string  `json:"user"`
	Used    float64 `json:"usedSeconds"`
	Waiting int     `json:"waiting"`     // turns
	Late    float64 `json:"lateSeconds"` // for how long turns have waited without a pause
	Refused uint64  `json:"rejected"`    // turns
}

// Usage returns the usage of all users that have a watch or a request. Those that have used most come first.
func (s *Scheduler) Usage() []Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := make([]Usage, 0, len(s.byUser))
	for _, a := range s.byUser {
		users = append(users, a.usageLocked())
	}
	slices.SortFunc(users, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), cmp.Compare(a.User, b.User))
	})
	return users
}

// Collectors count the time and the turns of all users.
func (s *Scheduler) Collectors() []prometheus.Collector {
	read := func(value func() float64) func() float64 {
		return func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return value()
		}
	}
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "revtail_cputime_seconds_total", Help: "Time of the filters, selectors, Tables, projections and compressed streams that clients chose.",
		}, read(func() float64 { return s.used.Seconds() })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "revtail_cputime_waiting", Help: "Watches and lists whose filters, selectors or Tables wait for a processor.",
		}, read(func() float64 { return float64(s.waiters) })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "revtail_cputime_refused_total", Help: "Watches and lists that ended with 429, because their user asked for more processor time than its share.",
		}, read(func() float64 { return float64(s.refused) })),
	}
}
