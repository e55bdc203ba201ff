// Package monitor polls the health of an etcd, and logs the loss and the return of its members.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"revtail/etcdstore"
)

// period is the interval of a Monitor, which makes a few small requests and one connection to each member.
const period = 5 * time.Second

// Monitor polls the health of an etcd.
type Monitor struct {
	store  *etcdstore.Etcd
	latest atomic.Pointer[Health]
	outage outageLog // of Run
}

// New returns a Monitor of a store. Run polls, and logs when endpoints stop to answer and when they answer again.
func New(store *etcdstore.Etcd, logger *slog.Logger) *Monitor {
	return &Monitor{store: store, outage: outageLog{logger: logger}}
}

// Health returns the result of the last poll, or the zero Health before the first one.
func (m *Monitor) Health() Health {
	if c := m.latest.Load(); c != nil {
		return *c
	}
	return Health{}
}

// Run polls until ctx ends, and then returns nil.
func (m *Monitor) Run(ctx context.Context) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		next := m.Poll(ctx)
		if ctx.Err() != nil {
			return nil
		}
		m.outage.report(ctx, next)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Poll asks etcd, and returns the result.
func (m *Monitor) Poll(ctx context.Context) Health {
	c := m.poll(ctx, m.Health())
	if ctx.Err() == nil {
		m.latest.Store(&c)
	}
	return c
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
func (m *Monitor) oldest(ctx context.Context, before etcdstore.Revision) etcdstore.Revision {
	if before > 0 {
		if err := m.store.Keeps(ctx, before); err == nil || errors.Is(err, etcdstore.ErrUnavailable) {
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
func alarmsOf(members []etcdstore.MemberStatus) []etcdstore.Alarm {
	for _, m := range members {
		if m.Err != nil {
			continue
		}
		var out []etcdstore.Alarm
		for _, problem := range m.Errors {
			var id uint64
			if _, raised, ok := strings.Cut(problem, "alarm:"); ok {
				_, _ = fmt.Sscanf(problem, "memberID:%d", &id) // zero: unknown
				out = append(out, etcdstore.Alarm{Member: fmt.Sprintf("%x", id), Type: strings.TrimSpace(raised)})
			}
		}
		return out
	}
	return nil
}
