package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	// monitorEvery is the interval of a Monitor, which makes a few small requests and one connection to each member.
	monitorEvery = 5 * time.Second
	// nearlyFull is the share of the quota from which Problems reports a member.
	nearlyFull = 0.8
)

// Health is the state of an etcd.
type Health struct {
	Members []MemberStatus
	Alarms  []Alarm
	Newest  Revision  // zero: unknown
	Oldest  Revision  // not compacted; zero: unknown
	Grown   time.Time // the last time that Oldest grew; zero: not since the Monitor started
}

// Problems returns sentences for the operator: what is wrong, or soon will be, and what to do.
func (c Health) Problems() []string {
	var out []string
	for _, alarm := range c.Alarms {
		if alarm.Type == "NOSPACE" {
			out = append(out, fmt.Sprintf("member %s has raised NOSPACE: writes fail with 507, reads and watches work; compact, `etcdctl defrag`, then `etcdctl alarm disarm`", alarm.Member))
		} else {
			out = append(out, fmt.Sprintf("member %s has raised %s: stop it, and restore it from the others", alarm.Member, alarm.Type))
		}
	}
	for _, m := range c.Members {
		switch share := float64(m.Size) / float64(max(m.Quota, 1)); {
		case m.Err != nil:
			out = append(out, fmt.Sprintf("%s does not answer", m.Endpoint))
		case !m.Leading:
			out = append(out, fmt.Sprintf("%s has no leader", m.Endpoint))
		case m.Quota > 0 && share > nearlyFull:
			out = append(out, fmt.Sprintf("%s uses %.0f %% of its quota: compact (--history), `etcdctl defrag`, or raise --quota-backend-bytes", m.Endpoint, 100*share))
		}
	}
	return out
}

// Monitor polls the health of an etcd.
type Monitor struct {
	store  *Etcd
	latest atomic.Pointer[Health]
}

// NewMonitor returns a Monitor of a store. Run polls.
func NewMonitor(store *Etcd) *Monitor { return &Monitor{store: store} }

// Health returns the result of the last poll, or the zero Health before the first one.
func (m *Monitor) Health() Health {
	if c := m.latest.Load(); c != nil {
		return *c
	}
	return Health{}
}

// Run polls until ctx ends, and then returns nil.
func (m *Monitor) Run(ctx context.Context) error {
	tick := time.NewTicker(monitorEvery)
	defer tick.Stop()
	for {
		next := m.poll(ctx, m.Health())
		if ctx.Err() != nil {
			return nil
		}
		m.latest.Store(&next)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *Monitor) poll(ctx context.Context, before Health) Health {
	c := Health{Members: m.store.Members(ctx), Grown: before.Grown}
	for _, member := range c.Members {
		c.Newest = max(c.Newest, member.Revision)
	}
	if c.Newest == 0 {
		c.Oldest = before.Oldest
		return c // no member answers
	}
	var err error
	if c.Alarms, err = m.store.Alarms(ctx); err != nil { // in an etcd with authentication, only root may request alarms
		c.Alarms = alarmsOf(c.Members)
	}
	if c.Oldest = m.oldest(ctx, before.Oldest); before.Oldest > 0 && c.Oldest > before.Oldest {
		c.Grown = time.Now()
	}
	return c
}

// oldest makes one small request while etcd is not compacted.
func (m *Monitor) oldest(ctx context.Context, before Revision) Revision {
	if before > 0 {
		if _, err := m.store.List(ctx, bookkeepingKey, ListOptions{At: before, Limit: 1, KeysOnly: true}); err == nil || errors.Is(err, ErrUnavailable) {
			return before
		}
	}
	oldest, err := m.store.Oldest(ctx)
	if err != nil {
		return 0
	}
	return oldest
}

// alarmsOf returns the alarms in the status of the first member that answers, such as memberID:123 alarm:NOSPACE. Each member reports
// all alarms.
func alarmsOf(members []MemberStatus) []Alarm {
	for _, m := range members {
		if m.Err != nil {
			continue
		}
		var out []Alarm
		for _, problem := range m.Errors {
			var id uint64
			if _, raised, ok := strings.Cut(problem, "alarm:"); ok {
				_, _ = fmt.Sscanf(problem, "memberID:%d", &id) // zero: unknown
				out = append(out, Alarm{fmt.Sprintf("%x", id), strings.TrimSpace(raised)})
			}
		}
		return out
	}
	return nil
}

// MemberStatus is the status of a member of the cluster.
type MemberStatus struct {
	Endpoint string
	Err      error // no response: the fields below are unknown

	Cluster  uint64
	Version  string
	Leader   bool // the member is the leader
	Leading  bool // the member has a leader
	Learner  bool
	Revision Revision
	Size     int64    // bytes of its database file
	InUse    int64    // bytes of these in use
	Quota    int64    // bytes above which etcd refuses writes; zero: unknown (before etcd 3.6)
	Errors   []string // in the words of etcd: alarms, a lost leader
}

// Members requests the status of each endpoint.
func (e *Etcd) Members(ctx context.Context) []MemberStatus {
	out := make([]MemberStatus, len(e.endpoints))
	var requests sync.WaitGroup
	for i, endpoint := range e.endpoints {
		requests.Go(func() { out[i] = e.member(ctx, endpoint) })
	}
	requests.Wait()
	return out
}

func (e *Etcd) member(ctx context.Context, endpoint string) MemberStatus {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := e.client.Status(ctx, endpoint)
	if err != nil {
		return MemberStatus{Endpoint: endpoint, Err: toError(ctx, err, 0, false)}
	}
	return MemberStatus{
		Endpoint: endpoint, Cluster: s.Header.ClusterId, Version: s.Version, Leader: s.Leader == s.Header.MemberId, Leading: s.Leader != 0,
		Learner: s.IsLearner, Revision: Revision(s.Header.Revision), Size: s.DbSize, InUse: s.DbSizeInUse, Quota: s.DbSizeQuota, Errors: s.Errors,
	}
}

// Alarm is an alarm that a member has raised.
type Alarm struct {
	Member string // id in the format of etcdctl
	Type   string // NOSPACE or CORRUPT
}

// Alarms returns the active alarms. If etcd has authentication, only root may request them: ErrDenied.
func (e *Etcd) Alarms(ctx context.Context) ([]Alarm, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := e.client.AlarmList(ctx)
	if err != nil {
		return nil, toError(ctx, err, 0, false)
	}
	var out []Alarm
	for _, alarm := range list.Alarms {
		if alarm.Alarm != pb.AlarmType_NONE {
			out = append(out, Alarm{fmt.Sprintf("%x", alarm.MemberID), alarm.Alarm.String()})
		}
	}
	return out, nil
}

// Oldest returns the oldest revision that is not compacted.
func (e *Etcd) Oldest(ctx context.Context) (Revision, error) {
	for rev := Revision(1); rev <= 2; rev++ { // the watch below begins at 2
		_, err := e.List(ctx, bookkeepingKey, ListOptions{At: rev, Limit: 1, KeysOnly: true})
		if _, compacted := errors.AsType[*CompactedError](err); !compacted {
			return rev, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	watcher := e.Watch(ctx, bookkeepingKey, WatchOptions{After: 1}) // its error has the revision
	defer func() { _ = watcher.Close() }()
	_, err := watcher.Next(ctx)
	if compacted, ok := errors.AsType[*CompactedError](err); ok {
		return compacted.Compacted, nil
	}
	return 0, err
}
