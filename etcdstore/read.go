package etcdstore

import (
	"cmp"
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Get implements Store.
func (e *Etcd) Get(ctx context.Context, key string) (KV, Revision, error) {
	if err := check("key", key); err != nil {
		return KV{}, 0, err
	}
	resp, err := e.read(ctx, &pb.RangeRequest{Key: []byte(key)})
	if err != nil {
		return KV{}, 0, fmt.Errorf("get %q: %w", key, err)
	}
	rev := Revision(resp.Header.Revision)
	if len(resp.Kvs) == 0 {
		return KV{}, rev, fmt.Errorf("get %q: %w", key, ErrNotFound)
	}
	return toKV(resp.Kvs[0]), rev, nil
}

// Revision implements Store.
func (e *Etcd) Revision(ctx context.Context) (Revision, error) {
	return e.revisionAt(ctx, 0)
}

// revisionAt returns a revision that can be read: at or, if that is zero, the newest one.
func (e *Etcd) revisionAt(ctx context.Context, at Revision) (Revision, error) {
	resp, err := e.read(ctx, &pb.RangeRequest{Key: []byte(bookkeepingKey), CountOnly: true, Revision: int64(at)})
	if err != nil {
		return 0, fmt.Errorf("revision: %w", err)
	}
	return cmp.Or(at, Revision(resp.Header.Revision)), nil
}

// List implements Store.
func (e *Etcd) List(ctx context.Context, prefix string, o ListOptions) (Page, error) {
	if err := check("prefix", prefix); err != nil {
		return Page{}, err
	}
	if o.At < 0 || o.Limit < 0 {
		return Page{}, fmt.Errorf("%w: At and Limit must not be negative", ErrInvalid)
	}
	if o.Exact && o.After >= prefix {
		revision, err := e.revisionAt(ctx, o.At)
		return Page{Revision: revision}, err
	}
	req := &pb.RangeRequest{
		Key:      []byte(max(prefix, o.After+"\x00")),
		RangeEnd: rangeEnd(prefix, o.Exact),
		Limit:    int64(o.Limit),
		Revision: int64(o.At),
		KeysOnly: o.KeysOnly,
	}
	if o.Limit == 0 {
		req.Limit = pageKeys
	}
	page := Page{Revision: o.At}
	for {
		resp, err := e.read(ctx, req)
		if err != nil {
			return Page{}, fmt.Errorf("list %q: %w", prefix, err)
		}
		page.Revision = cmp.Or(page.Revision, Revision(resp.Header.Revision))
		for _, kv := range resp.Kvs {
			page.KVs = append(page.KVs, toKV(kv))
		}
		if o.Limit != 0 || !resp.More {
			page.Remaining = resp.Count - int64(len(resp.Kvs))
			return page, nil
		}
		// All pages are of the revision of the first one.
		req.Revision = int64(page.Revision)
		req.Key = append(resp.Kvs[len(resp.Kvs)-1].Key, 0)
	}
}

// read is a linearizable range read with retries until requestTimeout.
func (e *Etcd) read(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	bound, cancel := e.bound(ctx)
	defer cancel()
	resp, err := e.kv.Range(bound, req)
	if err != nil {
		return nil, e.toError(ctx, err, Revision(req.Revision), false)
	}
	e.lineage.read(resp.Header.GetClusterId(), Revision(resp.Header.GetRevision()))
	return resp, nil
}

// rangeEnd returns the end of the range of the keys that begin with prefix; exact: nil, for a single key.
func rangeEnd(prefix string, exact bool) []byte {
	if exact {
		return nil
	}
	return []byte(clientv3.GetPrefixRangeEnd(prefix))
}

func toKV(kv *mvccpb.KeyValue) KV {
	return KV{
		Key:      string(kv.Key),
		Value:    kv.Value,
		Created:  Revision(kv.CreateRevision),
		Modified: Revision(kv.ModRevision),
		Version:  kv.Version,
		Lease:    kv.Lease,
	}
}
