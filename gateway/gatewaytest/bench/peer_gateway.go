package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// nullGateway writes what it gets into etcd, without looking at more of it than its name and resourceVersion: the cost of a write that is HTTP and a
// transaction.
type nullGateway struct {
	kv     pb.KVClient
	prefix string
}

// runNullGateway runs the process: it prints its address, and ends with its context.
func runNullGateway(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	e := new(etcd)
	flags.StringVar(&e.endpoint, "etcd", "", "host:port of the etcd")
	prefix := flags.String("prefix", "", "the prefix of the keys")
	watches := flags.Bool("watch", false, "watch the keys, as a gateway does that serves them from memory")
	pair := addPairFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := e.dial(); err != nil {
		return err
	}
	defer func() { _ = e.conn.Close() }()
	if *watches {
		events, err := watchPrefix(ctx, e, *prefix)
		if err != nil {
			return err
		}
		go drain(events)
	}
	return servePeer(ctx, &nullGateway{e.kv, *prefix}, pair, "", stdout)
}

// watchPrefix opens a watch of all keys with a prefix. It ends with ctx.
func watchPrefix(ctx context.Context, e *etcd, prefix string) (pb.Watch_WatchClient, error) {
	stream, err := pb.NewWatchClient(e.conn).Watch(ctx)
	if err != nil {
		return nil, err
	}
	end := []byte(prefix)
	end[len(end)-1]++
	return stream, stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: &pb.WatchCreateRequest{Key: []byte(prefix), RangeEnd: end},
	}})
}

// drain receives events until the watch ends.
func drain(events pb.Watch_WatchClient) {
	for {
		if _, err := events.Recv(); err != nil {
			return
		}
	}
}

// nameOf returns the name of a posted object.
func nameOf(object []byte) string {
	const member = `"name":"`
	_, rest, _ := bytes.Cut(object, []byte(member))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(name)
}

// ServeHTTP answers a POST and a PUT as the product does, with the object and its resourceVersion; 409 if another revision of the object exists.
func (g *nullGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	revision, _ := revisionAfter(body, resourceVersion)
	key := []byte(g.prefix + nameOf(body))
	answer, err := g.kv.Txn(r.Context(), &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: key, Target: pb.Compare_MOD, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_ModRevision{ModRevision: revision}}},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: body}}}},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}},
	})
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !answer.Succeeded:
		http.Error(w, "conflict", http.StatusConflict)
	default:
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write(withRevision(body, answer.Header.Revision)) // the client reports an error
	}
}
