package offline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/dbfile"
	"revtail/etcdstore/readonly"
)

// past is a file at one revision. It has no other revisions, so that definitions of resources that were deleted later are there.
type past struct {
	*readonly.Store

	file     etcdstore.Store
	revision etcdstore.Revision
}

func newPast(file etcdstore.Store, revision etcdstore.Revision) *past {
	p := &past{file: file, revision: revision}
	p.Store = readonly.New(readonly.Source{Refusal: dbfile.ErrReadOnly, Newest: func() etcdstore.Revision { return revision }, Find: p.find})
	return p
}

func (p *past) find(ctx context.Context, key string) (*etcdstore.KV, error) {
	page, err := p.file.List(ctx, key, etcdstore.ListOptions{At: p.revision, Exact: true})
	if err != nil || len(page.KVs) == 0 {
		return nil, err
	}
	return &page.KVs[0], nil
}

// List implements etcdstore.Store.
func (p *past) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	at, err := p.RevisionOf(ctx, prefix, o)
	if err == nil && at < p.revision {
		err = fmt.Errorf("list %q: %w", prefix, &etcdstore.CompactedError{Requested: at, Compacted: p.revision})
	}
	if err != nil {
		return etcdstore.Page{}, err
	}
	o.At = at
	return p.file.List(ctx, prefix, o)
}

// Watch implements etcdstore.Store. Nothing happens after the revision.
func (p *past) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return p.NewWatcher(ctx, prefix, o, func(context.Context) (etcdstore.Batch, error) {
		if o.After < p.revision {
			return etcdstore.Batch{}, &etcdstore.CompactedError{Requested: o.After, Compacted: p.revision}
		}
		return etcdstore.Batch{Received: time.Now()}, nil
	})
}

// Close ends the watches. The file stays open.
func (p *past) Close() error {
	p.End()
	return nil
}

// AsOf returns a server of the same file as it was at one of its revisions. It serves the resources that were defined then. The caller runs the server and closes
// it, before s.
func (s *Server) AsOf(ctx context.Context, revision etcdstore.Revision, logger *slog.Logger) (*Server, error) {
	then := &Server{options: s.options, info: s.info, file: newPast(s.file, revision)}
	then.info.Newest, then.info.Oldest = revision, revision
	if err := then.open(ctx, logger); err != nil {
		return nil, fmt.Errorf("revision %d: %w", revision, err)
	}
	return then, nil
}
