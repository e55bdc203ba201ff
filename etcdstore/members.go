package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// MemberStatus is what a member of the cluster says of itself.
type MemberStatus struct {
	Endpoint string
	Err      error // it did not answer: nothing of what follows is known

	Cluster  uint64
	Version  string
	Leader   bool // it is the one
	Leading  bool // it knows one
	Learner  bool
	Revision Revision
	Size     int64    // bytes of its database file
	InUse    int64    // bytes of these that hold something
	Quota    int64    // bytes above which nothing can be written; zero: not known (before etcd 3.6)
	Errors   []string // as etcd words them: alarms, a lost leader
}

// Members asks every endpoint of the configuration what it has to say of itself.
func (e *Etcd) Members(ctx context.Context) []MemberStatus {
	out := make([]MemberStatus, len(e.endpoints))
	var asking sync.WaitGroup
	for i, endpoint := range e.endpoints {
		asking.Go(func() { out[i] = e.member(ctx, endpoint) })
	}
	asking.Wait()
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

// Alarm is one that a member has raised.
type Alarm struct {
	Member string // its id, as etcdctl writes it
	Type   string // NOSPACE or CORRUPT
}

// Alarms are those that stand. With authentication in etcd it takes its root to ask: ErrDenied.
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

// Oldest is the oldest revision that can still be read and watched from: what was before has been compacted.
func (e *Etcd) Oldest(ctx context.Context) (Revision, error) {
	compacted := (*CompactedError)(nil)
	for rev := Revision(1); rev <= 2; rev++ { // a watch after 1, below, begins with 2
		if _, err := e.List(ctx, bookkeepingKey, ListOptions{At: rev, Limit: 1, KeysOnly: true}); !errors.As(err, &compacted) {
			return rev, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	watcher := e.Watch(ctx, bookkeepingKey, WatchOptions{After: 1}) // its refusal has the number
	defer func() { _ = watcher.Close() }()
	_, err := watcher.Next(ctx)
	if errors.As(err, &compacted) {
		return compacted.Compacted, nil
	}
	return 0, err
}
