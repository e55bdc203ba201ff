package offline

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"revtail/etcdstore"
	"revtail/etcdstore/dbfile"
	"revtail/etcdstore/readonly"
)

// past is a file as it was at a revision: it has no later ones, so that definitions of resources that were deleted later are there.
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
	var err error
	if o.At, err = p.RevisionOf(ctx, prefix, o); err != nil {
		return etcdstore.Page{}, err
	}
	return p.file.List(ctx, prefix, o)
}

// Watch implements etcdstore.Store.
func (p *past) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &pastWatcher{file: p.file.Watch(ctx, prefix, o), through: p.revision, ended: o.After >= p.revision}
	return p.NewWatcher(ctx, prefix, o, w.read)
}

// pastWatcher reads the events of a file up to a revision.
type pastWatcher struct {
	file    etcdstore.Watcher // holds nothing that must be closed
	through etcdstore.Revision
	ended   bool
}

// read returns the next events. The file, whose newest revision is a later one, answers each request for progress.
func (w *pastWatcher) read(ctx context.Context) (etcdstore.Batch, error) {
	for !w.ended {
		if err := w.file.RequestProgress(ctx); err != nil {
			return etcdstore.Batch{}, err
		}
		batch, err := w.file.Next(ctx)
		if err != nil {
			return etcdstore.Batch{}, err
		}
		w.ended = batch.Through >= w.through
		batch.Events = slices.DeleteFunc(batch.Events, func(e etcdstore.Event) bool { return e.Revision > w.through })
		if batch.Through = min(batch.Through, w.through); len(batch.Events) > 0 {
			return batch, nil
		}
	}
	return etcdstore.Batch{}, nil
}

// Close ends the watches. The file stays open.
func (p *past) Close() error {
	p.End()
	return nil
}

// AsOf returns a server of the same file as it was at one of its revisions, other than the newest. It serves the resources that were defined then. The caller runs the server and closes
// it, before s.
func (s *Server) AsOf(ctx context.Context, revision etcdstore.Revision, logger *slog.Logger) (*Server, error) {
	then := &Server{options: s.options, info: s.info, file: newPast(s.file, revision)}
	then.info.Newest = revision
	if err := then.open(ctx, logger); err != nil {
		return nil, fmt.Errorf("revision %d: %w", revision, err)
	}
	return then, nil
}
