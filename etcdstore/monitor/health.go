package monitor

import (
	"fmt"
	"time"

	"revtail/etcdstore"
)

// nearlyFull is the share of the quota from which Problems reports a member.
const nearlyFull = 0.8

// Health is the state of an etcd.
type Health struct {
	Members []etcdstore.MemberStatus
	Alarms  []etcdstore.Alarm
	Newest  etcdstore.Revision // zero: unknown
	Oldest  etcdstore.Revision // not compacted; zero: unknown
	Grown   time.Time          // the last time that Oldest grew; zero: not since the Monitor started
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
