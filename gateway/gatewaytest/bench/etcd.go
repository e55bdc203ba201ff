package main

import (
	"context"
	"fmt"
	"os"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"revtail/gateway/gatewaytest/program"
)

// etcd is an etcd process and a connection to it. The requests are those of clientv3 without its overhead.
type etcd struct {
	*program.Process
	dir      string // of its data
	endpoint string // host:port
	conn     *grpc.ClientConn
	kv       pb.KVClient
}

// startEtcd starts an etcd with an empty data directory and waits until it answers.
func (s *stage) startEtcd(ctx context.Context) (*etcd, error) {
	dir, err := os.MkdirTemp(s.dir, "etcd-")
	if err != nil {
		return nil, err
	}
	client, peer := program.FreeAddress(), program.FreeAddress()
	e := &etcd{dir: dir, endpoint: client}
	e.Process, err = program.Launch("etcd", s.dir, s.etcdProgram, "--data-dir", dir, "--log-level", "warn", "--quota-backend-bytes", "8589934592",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	if err != nil {
		return nil, err
	}
	return e, e.connect(ctx)
}

// connect connects to an etcd that has been started, and waits until it answers. It stops the process on failure.
func (e *etcd) connect(ctx context.Context) error {
	if err := e.dial(); err != nil {
		e.Stop()
		return err
	}
	starting, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	if _, err := e.revision(starting); err != nil {
		e.close()
		return fmt.Errorf("etcd: %w: %s", err, e.LastWords())
	}
	return nil
}

// dial makes a connection, which waits for the etcd.
func (e *etcd) dial() (err error) {
	e.conn, err = grpc.NewClient(e.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err == nil {
		e.kv = pb.NewKVClient(e.conn)
	}
	return err
}

func (e *etcd) close() {
	_ = e.conn.Close()
	e.Stop()
	_ = os.RemoveAll(e.dir) // the stage removes the rest
}

// revision returns the newest revision.
func (e *etcd) revision(ctx context.Context) (int64, error) {
	answer, err := e.kv.Range(ctx, &pb.RangeRequest{Key: []byte("absent"), CountOnly: true})
	if err != nil {
		return 0, err
	}
	return answer.Header.Revision, nil
}

// put returns the revision of the write.
func (e *etcd) put(ctx context.Context, key string, value []byte) (int64, error) {
	answer, err := e.kv.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: value})
	if err != nil {
		return 0, err
	}
	return answer.Header.Revision, nil
}

// load writes n objects, and returns their revisions.
func (e *etcd) load(ctx context.Context, n int, object func(i int) (key string, value []byte)) ([]int64, error) {
	const atOnce = 256 // etcd commits waiting writes together
	revisions := make([]int64, n)
	return revisions, eachOf(indices(n), atOnce, func(i int) (err error) {
		key, value := object(i)
		revisions[i], err = e.put(ctx, key, value)
		return err
	})
}
