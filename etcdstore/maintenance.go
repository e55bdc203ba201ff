package etcdstore

import (
	"context"
	"errors"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// Snapshot streams the database of the member that the connection has: open a store with one endpoint. Each call of receive gets the next
// part, and the number of bytes after it. The last 32 bytes are the SHA-256 of all others. If etcd has authentication, only root may request
// it: ErrDenied. An error of receive ends the stream, and is returned.
func (e *Etcd) Snapshot(ctx context.Context, receive func(part []byte, remaining uint64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewMaintenanceClient(e.client.ActiveConnection()).Snapshot(ctx, &pb.SnapshotRequest{}, grpc.WaitForReady(false))
	for err == nil {
		var part *pb.SnapshotResponse
		if part, err = stream.Recv(); err == nil {
			if err := receive(part.GetBlob(), part.GetRemainingBytes()); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return toError(ctx, err, 0, false)
}
