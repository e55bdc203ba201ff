package top

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// step is two samples of a gateway.
type step struct {
	name        string
	before, now *sample
	seconds     float64 // between them
}

// rate returns the increase of a counter in a second; a restart of the gateway is none.
func (s step) rate(name string, texts ...string) float64 {
	if s.before.metrics == nil {
		return 0
	}
	return max(s.now.metrics.sum(name, texts...)-s.before.metrics.sum(name, texts...), 0) / s.seconds
}

const (
	ofRequests = `resource="requests"`
	ofWrites   = `resource="writes"`
)

func (s step) gateway() gateway {
	m := s.now.metrics
	g := gateway{
		Server: s.name, State: "ready", Watches: int(m.sum("revtail_watchers")), Late: int(m.sum("revtail_watchers_late")), SlowestLag: m.sum("revtail_watcher_lag_seconds"),
		Events: s.rate("revtail_watch_events_total"), Bytes: s.rate("revtail_watch_sent_bytes_total"),
		InFlight: int(m.sum("revtail_flowcontrol_seats_in_use", ofRequests)), Writes: int(m.sum("revtail_flowcontrol_seats_in_use", ofWrites)),
		Waiting: int(m.sum("revtail_flowcontrol_requests_waiting")), Refused: s.rate("revtail_flowcontrol_rejected_total"),
		Processor: s.rate("process_cpu_seconds_total"), MemoryBytes: int64(m.sum("process_resident_memory_bytes")),
	}
	for _, c := range s.caches() {
		g.CachesLate = max(g.CachesLate, c.Behind)
	}
	switch {
	case s.now.readyErr != nil:
		g.State = "down"
	case !s.now.ready:
		g.State = "not ready"
	}
	return g
}

// notes are sentences about problems, and about parts that are missing. A gateway that does not answer has one.
func (s step) notes() (out []string) {
	add := func(text string) {
		if text = s.name + ": " + text; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, problem := range s.now.problems {
		add(problem)
	}
	for _, err := range []error{s.now.readyErr, s.now.metricsErr, s.now.watchErr, s.now.flowsErr} {
		if err != nil {
			add(strings.TrimPrefix(err.Error(), address(s.name).text+": "))
		}
	}
	return out
}

func (s step) caches() (out []cache) {
	m := s.now.metrics
	newest := m.sum("revtail_etcd_revision")
	for labels, ready := range m["revtail_cache_ready"] {
		c := cache{Server: s.name, Resource: label(labels, "resource"), Ready: ready == 1,
			Objects: int64(m["revtail_cache_objects"][labels]), Bytes: int64(m["revtail_cache_bytes"][labels])}
		if revision := m["revtail_cache_revision"][labels]; revision > 0 && newest > revision {
			c.Behind = int64(newest - revision)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b cache) int { return cmp.Compare(a.Resource, b.Resource) })
	return out
}

func (s step) slow() (out []slow) {
	for _, w := range s.now.watchers {
		if w.LagSeconds > 0 {
			out = append(out, slow{User: w.user(), Client: w.Client, Path: w.Path, Lag: w.LagSeconds, Revision: w.Revision})
		}
	}
	return out
}

// user is the user of a watch; without authentication, the address of its client.
func (w watcher) user() string {
	if w.User != "" {
		return w.User
	}
	if at := strings.LastIndexByte(w.Client, ':'); at > 0 {
		return w.Client[:at]
	}
	return w.Client
}

// addWatches adds the watches by user and resource.
func (s step) addWatches(to map[[2]string]*watches) {
	type identity struct {
		client, path string
		since        time.Time
	}
	earlier := make(map[identity]watcher)
	for _, w := range s.before.watchers {
		earlier[identity{w.Client, w.Path, w.Since}] = w
	}
	for _, w := range s.now.watchers {
		key := [2]string{w.user(), w.Resource}
		sum := to[key]
		if sum == nil {
			sum = &watches{User: w.user(), Resource: w.Resource}
			to[key] = sum
		}
		was := earlier[identity{w.Client, w.Path, w.Since}]
		sum.Watches++
		sum.Events += float64(w.Events-min(was.Events, w.Events)) / s.seconds
		sum.Bytes += float64(w.Bytes-min(was.Bytes, w.Bytes)) / s.seconds
		sum.Lag = max(sum.Lag, w.LagSeconds)
		if w.LagSeconds > 0 {
			sum.Late++
		}
	}
}

// addUsers adds the shares and the processor time of each user.
func (s step) addUsers(to map[string]*user) {
	of := func(name string) *user {
		if to[name] == nil {
			to[name] = &user{User: name}
		}
		return to[name]
	}
	rejected := make(map[[2]string]uint64)
	for _, f := range s.before.flows.Flows {
		rejected[[2]string{f.User, f.Resource}] = f.Rejected
	}
	used := make(map[string]float64)
	for _, p := range s.before.flows.Processor {
		used[p.User] = p.UsedSeconds
	}
	for _, f := range s.now.flows.Flows {
		u := of(f.User)
		switch f.Resource {
		case "requests":
			u.InFlight += f.InUse
		case "writes":
			u.Writes += f.InUse
		case "watches":
			u.Watches += f.InUse
		}
		u.Waiting += f.Waiting
		u.Refused += float64(f.Rejected-min(rejected[[2]string{f.User, f.Resource}], f.Rejected)) / s.seconds
		u.Because = cmp.Or(f.Because, u.Because)
	}
	for _, p := range s.now.flows.Processor {
		of(p.User).Processor += max(p.UsedSeconds-used[p.User], 0) / s.seconds
		of(p.User).Waiting += p.Waiting
	}
}

// addEtcd adds what a gateway knows of etcd. The first gateway that answers determines the members.
func (s step) addEtcd(to *etcd) {
	m := s.now.metrics
	to.Revision = max(to.Revision, int64(m.sum("revtail_etcd_revision")))
	for _, revision := range m["revtail_cache_revision"] { // etcd is polled every few seconds
		to.Revision = max(to.Revision, int64(revision))
	}
	if count := s.rate("revtail_etcd_request_duration_seconds_count", `operation="Range"`); count > 0 {
		to.Latency = max(to.Latency, s.rate("revtail_etcd_request_duration_seconds_sum", `operation="Range"`)/count)
	}
	for labels, raised := range m["revtail_etcd_alarms"] {
		if name := label(labels, "type"); raised > 0 && !slices.Contains(to.Alarms, name) {
			to.Alarms = append(to.Alarms, name)
		}
	}
	slices.Sort(to.Alarms)
	if len(to.Members) > 0 {
		return
	}
	for labels, up := range m["revtail_etcd_member_up"] {
		x := member{Endpoint: label(labels, "endpoint"), State: "follower", Size: int64(m["revtail_etcd_member_database_bytes"][labels]),
			InUse: int64(m["revtail_etcd_member_database_in_use_bytes"][labels]), Quota: int64(m["revtail_etcd_member_quota_bytes"][labels])}
		if m["revtail_etcd_member_leader"][labels] == 1 {
			x.State = "leader"
		}
		if up == 0 {
			x.State = "down"
		}
		to.Members = append(to.Members, x)
	}
	slices.SortFunc(to.Members, func(a, b member) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
}
