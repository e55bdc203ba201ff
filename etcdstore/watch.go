package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// watcher is one watch of etcd on its own gRPC stream. Its goroutine passes batches to Next one by one. It receives no more until Next is
// called, so that the events stay in etcd.
type watcher struct {
	store  *Etcd
	prefix string
	asked  WatchOptions
	caller context.Context // of Watch
	ctx    context.Context // of the stream: ends with caller, Close (cause ErrClosed) or Etcd.Close (cause ErrClosed)
	cancel context.CancelCauseFunc

	batches chan Batch
	opened  chan struct{} // closed when etcd has created the watch; earlier progress responses may overtake events
	created sync.Once
	stream  pb.Watch_WatchClient
	done    chan struct{} // closed when the goroutine has ended and err is set
	err     error

	sending sync.Mutex // guards Send of stream: gRPC allows one sender at a time

	// Only the goroutine uses the fields below.
	through Revision // Batch.Through of the last batch; asked.After at first
	partial []Event  // of the last revision of an incomplete response, as more of them may follow
}

var _ Watcher = (*watcher)(nil)

// Watch implements Store.
func (e *Etcd) Watch(ctx context.Context, prefix string, o WatchOptions) Watcher {
	w := &watcher{
		store:   e,
		prefix:  prefix,
		asked:   o,
		caller:  ctx,
		batches: make(chan Batch),
		opened:  make(chan struct{}),
		done:    make(chan struct{}),
		through: o.After,
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		w.cancel(ErrClosed)
		w.end(nil)
		return w
	}
	e.watches.Go(w.run)
	return w
}

// Next implements Watcher.
func (w *watcher) Next(ctx context.Context) (Batch, error) {
	select {
	case b := <-w.batches:
		return b, nil
	case <-w.done:
		return Batch{}, w.err
	case <-ctx.Done():
		return Batch{}, fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
	}
}

// RequestProgress implements Watcher.
func (w *watcher) RequestProgress(ctx context.Context) error {
	select {
	case <-w.opened:
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
	}
	w.sending.Lock()
	defer w.sending.Unlock()
	request := &pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}
	if err := w.stream.Send(request); err == nil {
		return nil
	}
	// The error of Send only says that the stream has ended. The goroutine has the cause, unless it waits with a batch.
	select {
	case <-w.done:
		return w.err
	default:
		return fmt.Errorf("watch %q: %w: the stream has ended", w.prefix, ErrUnavailable)
	}
}

// Close implements Watcher. It waits for the goroutine of the watch.
func (w *watcher) Close() error {
	w.cancel(ErrClosed)
	<-w.done
	return nil
}

// run is the goroutine of the watch.
func (w *watcher) run() {
	stop := context.AfterFunc(w.store.ctx, func() { w.cancel(ErrClosed) })
	defer stop()
	w.end(w.follow())
}

// end sets the error of the watch: the cause of the end of its context, else the error of the stream.
func (w *watcher) end(broken error) {
	cause := context.Cause(w.ctx)
	if cause != nil && !errors.Is(cause, ErrClosed) {
		cause = w.caller.Err()
	}
	if cause == nil {
		cause = broken
	}
	w.err = fmt.Errorf("watch %q after %d: %w", w.prefix, w.asked.After, cause)
	w.cancel(nil) // frees the stream
	close(w.done)
}

// follow opens the stream and delivers its batches until it breaks.
func (w *watcher) follow() error {
	if err := w.open(); err != nil {
		return err
	}
	for {
		resp, err := w.stream.Recv()
		if err != nil {
			return toError(w.caller, err, w.through, false)
		}
		batch, ok, err := w.receive(resp)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		select {
		case w.batches <- batch:
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
}

// open does not wait for a connection, unlike other requests, because the consumer decides when to retry.
func (w *watcher) open() error {
	if err := check("prefix", w.prefix); err != nil {
		return err
	}
	if w.asked.After <= 0 {
		return fmt.Errorf("%w: a watch needs a revision to begin after", ErrInvalid)
	}
	stream, err := w.store.watch.Watch(clientv3.WithRequireLeader(w.ctx), grpc.WaitForReady(false))
	if err != nil {
		return toError(w.caller, err, w.asked.After, false)
	}
	err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key:            []byte(w.prefix),
		RangeEnd:       rangeEnd(w.prefix, w.asked.Exact),
		StartRevision:  int64(w.asked.After) + 1, // the only place where "later than" becomes etcd's "from"
		PrevKv:         w.asked.Previous,
		Fragment:       true,
		ProgressNotify: true,
	}}})
	if err != nil {
		_, err = stream.Recv() // the error of Send only says that the stream has ended
		return toError(w.caller, err, w.asked.After, false)
	}
	w.stream = stream
	return nil
}

// receive turns a response into a batch, or false if it completes no revision.
func (w *watcher) receive(resp *pb.WatchResponse) (Batch, bool, error) {
	switch {
	case resp.CompactRevision != 0:
		return Batch{}, false, &CompactedError{Requested: w.through, Compacted: Revision(resp.CompactRevision)}
	case resp.Canceled:
		return Batch{}, false, toError(w.caller, errors.New(resp.CancelReason), w.through, false)
	case resp.Created:
		w.created.Do(func() { close(w.opened) })
		return Batch{}, false, nil
	case len(resp.Events) == 0:
		return w.progress(Revision(resp.Header.GetRevision()))
	}
	if err := w.addEvents(resp.Events); err != nil {
		return Batch{}, false, err
	}
	// etcd may split large responses within a revision. Only the newest revision can be incomplete.
	complete := len(w.partial)
	for newest := w.partial[complete-1].Revision; resp.Fragment && complete > 0 && w.partial[complete-1].Revision == newest; {
		complete--
	}
	if complete == 0 {
		return Batch{}, false, nil
	}
	batch := Batch{Events: w.partial[:complete:complete], Through: w.partial[complete-1].Revision, Received: time.Now()}
	w.partial = slices.Clone(w.partial[complete:])
	w.through = batch.Through
	w.store.lineage.saw(resp.Header.GetClusterId(), batch.Through)
	return batch, true, nil
}

// progress handles a response without events. Only its header has the revision of the watch: the header of a response with events has
// the revision of the store, and events before it may follow.
func (w *watcher) progress(rev Revision) (Batch, bool, error) {
	if rev < w.through || len(w.partial) > 0 {
		return Batch{}, false, w.broken("progress up to %d between the events of that revision", rev)
	}
	w.through = rev
	return Batch{Through: rev}, true, nil
}

// addEvents checks the events of a response and adds them to partial.
func (w *watcher) addEvents(events []*mvccpb.Event) error {
	last := w.through
	if n := len(w.partial); n > 0 {
		last = w.partial[n-1].Revision
	}
	for _, in := range events {
		ev := toEvent(in)
		switch {
		case ev.Revision < last, ev.Revision == w.through:
			return w.broken("revision %d after %d", ev.Revision, last)
		case !strings.HasPrefix(ev.Key, w.prefix), w.asked.Exact && ev.Key != w.prefix:
			return w.broken("an event of key %q", ev.Key)
		}
		last = ev.Revision
		if w.asked.Previous && ev.PrevLost() {
			if err := w.findPrev(&ev); err != nil {
				return err
			}
		}
		w.partial = append(w.partial, ev)
	}
	return nil
}

// findPrev reads the state before ev. etcd omits it if it has been compacted, but also in a response during the creation of the watch.
func (w *watcher) findPrev(ev *Event) error {
	resp, err := w.store.read(w.ctx, &pb.RangeRequest{Key: []byte(ev.Key), Revision: int64(ev.Revision) - 1})
	if _, compacted := errors.AsType[*CompactedError](err); compacted {
		return nil
	}
	if err == nil && len(resp.Kvs) > 0 {
		prev := toKV(resp.Kvs[0])
		ev.Prev = &prev
	}
	return err
}

// broken is the error for a response that violates the protocol: the consumer must open a new watch.
func (w *watcher) broken(format string, args ...any) error {
	return fmt.Errorf("%w: etcd violated the watch protocol: after revision %d it sent %s", ErrUnavailable, w.through, fmt.Sprintf(format, args...))
}

func toEvent(in *mvccpb.Event) Event {
	ev := Event{Revision: Revision(in.Kv.ModRevision), Key: string(in.Kv.Key)}
	if in.Type == mvccpb.Event_PUT {
		kv := toKV(in.Kv)
		ev.KV = &kv
	}
	if in.PrevKv != nil {
		prev := toKV(in.PrevKv)
		ev.Prev = &prev
	}
	return ev
}
