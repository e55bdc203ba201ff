//go:build !noembedded

package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// reserve is the room at which writes are refused: for the next segment of the log, which etcd allocates before it needs it (64 MB), and
	// for the pages of the database that are not written yet.
	reserve = 128 << 20
	// resume is the room at which writes are accepted again.
	resume = reserve + 16<<20
	// firstStart and laterStart are the room that a start needs: two segments and the reserve, or one segment.
	firstStart = 2*64<<20 + resume
	laterStart = 64<<20 + 16<<20

	diskPeriod = time.Second           // between two checks without writes
	diskPause  = 50 * time.Millisecond // between two checks at least, unless diskBytes are written
	diskBytes  = 8 << 20               // written after a check, before the next one
)

// disk refuses writes before the disk of a member is full, because etcd ends at the first write to a file that fails.
type disk struct {
	dirs  []string
	free  func(dir string) (bytes uint64, err error)
	touch func(dir string) error
	log   *slog.Logger

	problem atomic.Pointer[diskProblem] // nil: writes are accepted
	written atomic.Int64                // bytes of the requests since the last check
	checked atomic.Int64                // time of the last check, in Unix nanoseconds

	checking sync.Mutex // held during a check
}

// diskProblem says why writes are refused. Clients get the reason alone.
type diskProblem struct{ dir, reason string }

// newDisk makes the disk of a member with the files of ec.
func newDisk(ec *embed.Config, log *slog.Logger) *disk {
	dirs := []string{ec.Dir}
	if ec.WalDir != "" {
		dirs = append(dirs, ec.WalDir)
	}
	return &disk{dirs: dirs, free: statfs, touch: touch, log: log}
}

// check reads the state of the file systems, unless another goroutine does. It logs a change. It writes to the disk only if etcd does, too.
func (d *disk) check() {
	if !d.checking.TryLock() {
		return
	}
	defer d.checking.Unlock()
	d.checked.Store(time.Now().UnixNano())
	idle := d.written.Swap(0) == 0
	var problem *diskProblem
	limit := uint64(reserve)
	if d.problem.Load() != nil {
		idle, limit = false, resume
	}
	for _, dir := range d.dirs {
		if free, err := d.free(dir); err == nil && free < limit { // after an error etcd finds out whether it can write
			problem = &diskProblem{dir, fmt.Sprintf("it has %d MiB left, and needs %d", free>>20, limit>>20)}
		} else if !idle && errors.Is(d.touch(dir), syscall.EROFS) {
			problem = &diskProblem{dir, "it is read-only"}
		}
	}
	switch before := d.problem.Swap(problem); {
	case before == nil && problem != nil:
		d.log.Error("writes are refused until the disk of etcd has room", "dir", problem.dir, "reason", problem.reason)
	case before != nil && problem == nil:
		d.log.Warn("writes are accepted again: the disk of etcd has room", "dir", before.dir)
	}
}

// admit refuses a request that would write while the disk has no room.
func (d *disk) admit(request any) error {
	size, writes := writeSize(request)
	if !writes {
		return nil
	}
	if d.written.Add(size) > diskBytes || time.Now().UnixNano()-d.checked.Load() > int64(diskPause) {
		d.check()
	}
	if problem := d.problem.Load(); problem != nil {
		return status.Errorf(codes.ResourceExhausted, "%v: %s", rpctypes.ErrNoSpace, problem.reason)
	}
	return nil
}

// touch changes the time of a directory. Only a write fails on a file system that
// has become read-only because of an error; statfs does not report it.
func touch(dir string) error {
	now := time.Now()
	return os.Chtimes(dir, now, now)
}

// intercept is admit for a request over a connection.
func (d *disk) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := d.admit(request); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

// writeSize returns about the size of a request for which etcd writes. A request for the alarms is one. A defragmentation is none, because it
// makes room, and compactions make none.
func writeSize(request any) (size int64, writes bool) {
	switch r := request.(type) {
	case *pb.TxnRequest:
		size = opsSize(r.GetSuccess()) + opsSize(r.GetFailure())
		return size, size > 0
	case *pb.PutRequest, *pb.DeleteRangeRequest, *pb.CompactionRequest, *pb.LeaseGrantRequest, *pb.LeaseRevokeRequest, *pb.AlarmRequest:
		return int64(proto.Size(r.(proto.Message))), true
	}
	return 0, false
}

// opsSize returns about the size of operations that write, which is cheaper than the exact one; zero: none does.
func opsSize(ops []*pb.RequestOp) (size int64) {
	for _, op := range ops {
		if put := op.GetRequestPut(); put != nil {
			size += int64(1 + len(put.GetKey()) + len(put.GetValue()))
		} else if op.GetRequestRange() == nil {
			size += int64(1 + proto.Size(op))
		}
	}
	return size
}

// checkStart fails if the disk has no room for the files that a start makes. If etcd cannot allocate the next segment of its log then, it
// ends as soon as it needs that, also if there is room by then.
func (d *disk) checkStart(ec *embed.Config) error {
	log := cmp.Or(ec.WalDir, filepath.Join(ec.Dir, "member", "wal"))
	wanted := uint64(firstStart)
	if segments, _ := filepath.Glob(filepath.Join(log, "*.wal")); len(segments) > 0 {
		wanted = laterStart
	}
	var reused uint64 // segments that a killed process had allocated
	allocated, _ := filepath.Glob(filepath.Join(log, "*.tmp"))
	for _, file := range allocated {
		if info, err := os.Stat(file); err == nil {
			reused += uint64(info.Size())
		}
	}
	for _, dir := range d.dirs {
		if free, err := d.free(dir); err == nil && free+reused < wanted {
			return &DataDirError{Dir: ec.Dir, Err: fmt.Errorf("%w: it has %d MiB left, and a start needs %d", ErrNoRoom, (free+reused)>>20, wanted>>20)}
		}
	}
	return nil
}
