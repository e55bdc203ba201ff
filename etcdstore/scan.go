package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"revtail/etcdstore/rangestream"
)

// Scanner is a Store that reads many keys at less cost than List does in pages.
type Scanner interface {
	// Scan is the function of the same name.
	Scan(ctx context.Context, prefix string, at Revision) iter.Seq2[Page, error]
}

// Scan reads the keys that begin with prefix in pages: in byte order, all as of one revision; zero: the newest one. There is at
// least one page, and its consumer may call Page.Release. An error ends it, those of List among them: *CompactedError also if the store compacts the
// revision meanwhile. From a store that is no Scanner it reads pages of ScanKeys keys with List.
func Scan(ctx context.Context, store Store, prefix string, at Revision) iter.Seq2[Page, error] {
	if scanner, ok := store.(Scanner); ok {
		return scanner.Scan(ctx, prefix, at)
	}
	return scanPages(ctx, store, prefix, ListOptions{Limit: ScanKeys, At: at})
}

// ScanKeys is how many keys a page of a Scan has that is read with List: some megabytes of usual objects.
const ScanKeys = 5000

// scanPages is Scan with List, for the keys of o.
func scanPages(ctx context.Context, store Store, prefix string, o ListOptions) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for {
			page, err := store.List(ctx, prefix, o)
			if !yield(page, err) || err != nil || page.Remaining == 0 {
				return
			}
			o.At, o.After = page.Revision, page.KVs[len(page.KVs)-1].Key
		}
	}
}

// Scan implements Scanner. It counts the keys, and reads them with one stream of etcd, because a page of a list costs etcd a look at all keys
// after it. A stream that breaks is continued after its last key.
func (e *Etcd) Scan(ctx context.Context, prefix string, at Revision) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		s := &scan{etcd: e, prefix: prefix, revision: at, yield: yield}
		if err := s.run(ctx); err != nil && !s.stopped {
			yield(Page{}, fmt.Errorf("scan %q: %w", prefix, err))
		}
	}
}

// scan is a Scan that runs.
type scan struct {
	etcd    *Etcd
	prefix  string
	yield   func(Page, error) bool
	stopped bool // yield wants no more

	revision  Revision // zero: not known yet
	after     string   // the last key
	remaining int64    // keys after it
}

func (s *scan) run(ctx context.Context) error {
	if err := check("prefix", s.prefix); err != nil {
		return err
	}
	count, err := s.etcd.read(ctx, &pb.RangeRequest{Key: []byte(s.prefix), RangeEnd: rangeEnd(s.prefix, false), Revision: int64(s.revision), CountOnly: true})
	if err != nil {
		return err
	}
	s.revision, s.remaining = cmp.Or(s.revision, Revision(count.Header.Revision)), count.Count
	if s.remaining == 0 {
		s.yield(Page{Revision: s.revision}, nil)
		return nil
	}
	for {
		before := s.remaining
		err = s.stream(ctx)
		switch {
		case err == nil || s.stopped:
			return nil
		case status.Code(err) == codes.Unimplemented: // by an etcd before 3.7, or a proxy
			s.pages(ctx)
			return nil
		}
		err = s.etcd.toError(ctx, err, s.revision, false)
		if !errors.Is(err, ErrUnavailable) || s.remaining == before {
			return err
		}
	}
}

// stream yields the pages of one stream. An error is that of gRPC.
func (s *scan) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, requireLeader))
	defer cancel()
	defer context.AfterFunc(s.etcd.ctx, cancel)()
	silent := time.AfterFunc(requestTimeout, cancel) // unless a page comes before
	defer silent.Stop()
	codec := rangestream.New(fromStream)
	stream, err := s.etcd.kv.RangeStream(ctx, &pb.RangeRequest{
		Key: []byte(max(s.prefix, s.after+"\x00")), RangeEnd: rangeEnd(s.prefix, false), Revision: int64(s.revision),
	}, grpc.ForceCodecV2(codec))
	for err == nil && !s.stopped {
		var message *pb.RangeStreamResponse
		if message, err = stream.Recv(); err == nil {
			silent.Stop()
			err = s.receive(message.RangeResponse, codec)
			silent.Reset(requestTimeout)
		}
	}
	if errors.Is(err, io.EOF) && s.remaining == 0 {
		return nil
	}
	return err
}

// receive yields the keys of a message. The last message has a header.
func (s *scan) receive(message *pb.RangeResponse, codec *rangestream.Codec[KV]) error {
	if header := message.Header; header != nil {
		s.etcd.lineage.read(header.GetClusterId(), Revision(header.GetRevision()))
	}
	page, decoded := Page{Revision: s.revision}, false
	if page.KVs, page.Release, decoded = codec.Take(); !decoded {
		for _, kv := range message.Kvs {
			page.KVs = append(page.KVs, toKV(kv))
		}
	}
	if len(page.KVs) == 0 {
		return nil
	}
	s.after = page.KVs[len(page.KVs)-1].Key
	s.remaining -= int64(len(page.KVs))
	if page.Remaining = s.remaining; s.remaining < 0 {
		return errors.New("etcd sent more keys than it had counted")
	}
	s.stopped = !s.yield(page, nil)
	return nil
}

func fromStream(kv rangestream.KeyValue) KV {
	return KV{Key: kv.Key, Value: kv.Value, Created: Revision(kv.Created), Modified: Revision(kv.Modified), Version: kv.Version, Lease: kv.Lease}
}

// pages yields the rest of the keys with List.
func (s *scan) pages(ctx context.Context) {
	for page, err := range scanPages(ctx, s.etcd, s.prefix, ListOptions{Limit: ScanKeys, At: s.revision, After: s.after}) {
		if !s.yield(page, err) {
			return
		}
	}
}
