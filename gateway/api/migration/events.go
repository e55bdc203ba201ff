package migration

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
)

// Events moves the events of events.k8s.io, which earlier releases stored under keys of that group and in its version, to the keys and the
// version of the core group. Every field is required.
type Events struct {
	Store    etcdstore.Store    // for writes without a client's request
	Claim    *claim.Claim       // nil: the data is revtail's own
	Resource *resource.Resource // of events.k8s.io
	Prefix   string
	Logger   *slog.Logger

	reported map[string]bool // the keys that stay where they are
}

const (
	// period is the time between two moves. Replicas of an earlier release may still run.
	period = time.Minute
	// page is how many events are read at a time.
	page = 500
)

// Run moves events until ctx ends. It begins when the data is revtail's own.
func (e *Events) Run(ctx context.Context) {
	if e.Claim.WaitOwned(ctx) != nil {
		return
	}
	e.reported = map[string]bool{}
	next := time.NewTicker(period)
	defer next.Stop()
	for {
		moved, err := e.moveAll(ctx)
		if moved > 0 {
			e.Logger.Info("moved events of an earlier release to the keys of the core group", "events", moved)
		}
		if err != nil && ctx.Err() == nil {
			e.Logger.Warn("events of an earlier release are not all moved, trying again", "error", err)
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
	}
}

func (e *Events) moveAll(ctx context.Context) (moved int, err error) {
	former := e.Prefix + "/" + e.Resource.Group + "/" + e.Resource.Plural + "/"
	options := etcdstore.ListOptions{Limit: page}
	for {
		list, err := e.Store.List(ctx, former, options)
		if err != nil {
			return moved, err
		}
		for _, kv := range list.KVs {
			done, err := e.move(ctx, kv, strings.TrimPrefix(kv.Key, former))
			if err != nil {
				return moved, err
			}
			if done {
				moved++
			}
		}
		if list.Remaining == 0 || len(list.KVs) == 0 {
			return moved, nil
		}
		options.After = list.KVs[len(list.KVs)-1].Key
	}
}

// move moves an event. It leaves a value that is no event where it is, and an event whose name another one has.
func (e *Events) move(ctx context.Context, kv etcdstore.KV, path string) (moved bool, err error) {
	value := e.convert(kv.Value)
	if value == nil {
		e.report(kv.Key, "its value is no event")
		return false, nil
	}
	key := e.Resource.Prefix(e.Prefix) + path
	done, err := e.Store.Transact(ctx, etcdstore.Txn{
		If: []etcdstore.Condition{
			{Key: kv.Key, Of: etcdstore.OfModified, Is: etcdstore.Equal, Number: int64(kv.Modified)},
			{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal},
		},
		Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: value}, {Verb: etcdstore.Delete, Key: kv.Key}},
	})
	if err == nil && !done.Succeeded {
		e.report(kv.Key, "another replica has moved it, or an event of the core group has its name")
	}
	return done.Succeeded, err
}

// convert returns the stored form of an event of an earlier release; nil: the value is no event.
func (e *Events) convert(value []byte) []byte {
	object, err := jsontext.Unmarshal(value)
	if err != nil {
		return nil
	}
	if e.Resource.Store(object); object["apiVersion"] != e.Resource.Stored().String() {
		return nil
	}
	if value, err = encoding.Marshal(object); err != nil {
		return nil
	}
	return value
}

// report logs once that an event stays under its key.
func (e *Events) report(key, reason string) {
	if !e.reported[key] {
		e.reported[key] = true
		e.Logger.Warn("an event of an earlier release stays under its key, and is not served", "key", key, "reason", reason)
	}
}
