package main

import (
	"context"
	"math"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// connectGRPC watches etcd itself, as clientv3 does, with a stream for each watch.
func connectGRPC(f *fleet, e endpoint, requests []request) error {
	return eachOf(groupsOf(requests, streamsPerConnection), dialers, func(group []request) error {
		conn, err := grpc.NewClient(e.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
		if err != nil {
			return err
		}
		f.own(conn)
		for _, r := range group {
			stream, err := pb.NewWatchClient(conn).Watch(f.ctx)
			if err != nil {
				return err
			}
			create := &pb.WatchCreateRequest{Key: []byte(configMapsKey), RangeEnd: rangeEnd(configMapsKey), StartRevision: r.after + 1}
			if err := stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}}); err != nil {
				return err
			}
			f.running.Go(func() { f.broke(receive(stream, r.watcher), r.watcher) })
		}
		return nil
	})
}

// receive reads events until the stream ends, and returns the reason.
func receive(stream grpc.BidiStreamingClient[pb.WatchRequest, pb.WatchResponse], w *watcher) error {
	for {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		if answer.Created {
			w.fleet.heads.arrive()
		}
		for _, event := range answer.Events {
			w.event(event.Kv.ModRevision)
		}
	}
}

// rangeEnd returns the end of the range of keys with a prefix.
func rangeEnd(prefix string) []byte {
	end := []byte(prefix)
	end[len(end)-1]++
	return end
}

// rangeAll reads all ConfigMaps from etcd. It returns the size of the values, and their number.
func (e *etcd) rangeAll(ctx context.Context) (answer, error) {
	got, err := e.kv.Range(ctx, &pb.RangeRequest{Key: []byte(configMapsKey), RangeEnd: rangeEnd(configMapsKey)}, grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if err != nil {
		return answer{}, err
	}
	a := answer{checksum: uint32(len(got.Kvs))}
	for _, kv := range got.Kvs {
		a.bytes += int64(len(kv.Value))
	}
	return a, nil
}
