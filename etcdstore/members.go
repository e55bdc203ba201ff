package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

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
	ctx, cancel := context.WithTimeout(failingFast(ctx), requestTimeout)
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
		err := e.Keeps(ctx, rev)
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

// Keeps returns nil if a revision can be read, and a *CompactedError if it is compacted.
func (e *Etcd) Keeps(ctx context.Context, rev Revision) error {
	_, err := e.List(ctx, bookkeepingKey, ListOptions{At: rev, Limit: 1, KeysOnly: true})
	return err
}
