//go:build !noembedded

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"revtail/etcdstore/embedded"
)

func putting(key string) *pb.TxnRequest {
	return &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}}}}
}

// A member that closes finishes the running requests, ends the watches, and refuses later requests without a peer.
func TestCloseWithRequestsUnderWay(t *testing.T) {
	s := start(t, embedded.Config{DataDir: t.TempDir(), ClientURL: anyPort})
	kv, watches := s.Local()
	watch, err := watches.Watch(t.Context())
	if err == nil {
		err = watch.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{Key: []byte("/a")}}})
	}
	if err == nil {
		_, err = watch.Recv() // the response that the watch is created
	}
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	begun := make(chan struct{}, 8)
	for i := range cap(begun) {
		writing.Go(func() {
			for n := 0; ; n++ {
				_, failed := kv.Txn(t.Context(), putting(fmt.Sprintf("/a/%d", i)))
				if errors.Is(failed, rpctypes.ErrGRPCStopped) {
					return
				}
				if failed != nil {
					t.Errorf("a write while the member closes: %v", failed)
					return
				}
				if n == 0 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range cap(begun) {
		<-begun
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writing.Wait()
	for err = nil; err == nil; {
		_, err = watch.Recv()
	}
	var to peer.Peer
	if _, err := kv.Txn(t.Context(), putting("/a"), grpc.Peer(&to)); !errors.Is(err, rpctypes.ErrGRPCStopped) || to.Addr != nil {
		t.Errorf("a write after Close: %v, to %v", err, to.Addr)
	}
}

// The peer tells whether a request has reached the member.
func TestLocalPeer(t *testing.T) {
	s := start(t, embedded.Config{DataDir: t.TempDir(), ClientURL: anyPort})
	kv, _ := s.Local()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), ended} {
		var to peer.Peer
		_, err := kv.Txn(ctx, putting("/a"), grpc.Peer(&to))
		if done := ctx.Err() == nil; (err == nil) != done || (to.Addr != nil) != done {
			t.Errorf("with %v: %v, to %v", ctx.Err(), err, to.Addr)
		}
	}
}

// The member of a configuration file may be one of several, so it is reached over a connection only.
func TestConfiguredMemberHasAConnectionOnly(t *testing.T) {
	s := start(t, embedded.Config{ConfigFile: write(t, fileConfig(t, "http", ""))})
	if kv, watch := s.Local(); kv != nil || watch != nil {
		t.Error("the member can be reached without a connection")
	}
}
