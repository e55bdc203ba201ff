//go:build !noembedded

package embedded

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// fakeDisk is a file system with these bytes free.
func fakeDisk(dir string, free uint64) *disk {
	d := newDisk(&embed.Config{Dir: dir}, slog.New(slog.DiscardHandler))
	d.free = func(string) (uint64, error) { return free, nil }
	return d
}

func TestDiskReserve(t *testing.T) {
	var free uint64
	var writable error
	d := newDisk(&embed.Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	d.free = func(string) (uint64, error) { return free, nil }
	d.touch = func(string) error { return writable }
	for i, step := range []struct {
		free     uint64
		writable error
		want     string // in the reason; empty: writes are accepted
	}{
		{free: resume},
		{free: reserve},
		{free: reserve - 1, want: "127 MiB left"},
		{free: reserve, want: "needs 144"}, // so that it does not alternate
		{free: resume},
		{free: 1 << 50, writable: &fs.PathError{Err: syscall.EROFS}, want: "read-only"},
		{free: 1 << 50, writable: syscall.EACCES}, // of the directory, and not of the file system
		{free: 0, want: "0 MiB left"},
		{free: 1 << 50},
	} {
		free, writable = step.free, step.writable
		d.written.Store(1)
		d.check()
		err := d.admit(&pb.PutRequest{Key: []byte("a")})
		if (err == nil) != (step.want == "") || err != nil && (!strings.Contains(err.Error(), step.want) || status.Code(err) != codes.ResourceExhausted) {
			t.Errorf("step %d: %v, want %q", i, err, step.want)
		}
		if err := d.admit(&pb.RangeRequest{Key: []byte("a")}); err != nil {
			t.Errorf("step %d: a read: %v", i, err)
		}
	}
}

// An idle member does not write to its disk, and neither does the check.
func TestDiskCheckOfAnIdleMember(t *testing.T) {
	d, touched := fakeDisk(t.TempDir(), resume), 0
	d.touch = func(string) error { touched++; return nil }
	d.check()
	if touched != 0 {
		t.Error("the check of an idle member writes")
	}
	d.written.Store(1)
	if d.check(); touched != 1 {
		t.Errorf("after a request the check writes %d times", touched)
	}
}

func TestWriteSize(t *testing.T) {
	put := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("a"), Value: make([]byte, 1000)}}}
	read := &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("a")}}}
	nested := &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{Success: []*pb.RequestOp{put}}}}
	for _, test := range []struct {
		request any
		writes  bool
	}{
		{&pb.TxnRequest{Success: []*pb.RequestOp{put}}, true}, {&pb.TxnRequest{Success: []*pb.RequestOp{read}, Failure: []*pb.RequestOp{put}}, true},
		{&pb.TxnRequest{Success: []*pb.RequestOp{nested}}, true}, {&pb.TxnRequest{Success: []*pb.RequestOp{read}}, false}, {&pb.TxnRequest{}, false},
		{&pb.LeaseGrantRequest{TTL: 1}, true}, {&pb.AlarmRequest{MemberID: 1}, true}, {&pb.RangeRequest{}, false}, {&pb.DefragmentRequest{}, false},
		{&pb.StatusRequest{}, false},
	} {
		if size, writes := writeSize(test.request); writes != test.writes || writes != (size > 0) {
			t.Errorf("%T %v: writes %v, of %d bytes", test.request, test.request, writes, size)
		}
	}
}

// A start needs two segments and the reserve, a later one a segment, which may be one that a killed process had allocated.
func TestDiskOfAStart(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "member", "wal")
	write := func(name string, size int64) {
		if err := errors.Join(os.MkdirAll(log, 0o700), os.WriteFile(filepath.Join(log, name), nil, 0o600), os.Truncate(filepath.Join(log, name), size)); err != nil {
			t.Fatal(err)
		}
	}
	fits := func(free uint64) bool {
		err := fakeDisk(dir, free).checkStart(&embed.Config{Dir: dir})
		if err != nil && !errors.Is(err, ErrNoRoom) {
			t.Fatal(err)
		}
		return err == nil
	}
	if fits(firstStart-1) || !fits(firstStart) {
		t.Error("a first start does not need what it allocates")
	}
	write("0.wal", 64<<20)
	if fits(laterStart-1) || !fits(laterStart) {
		t.Error("a later start does not need a segment")
	}
	write("0.tmp", 64<<20)
	if fits(laterStart-64<<20-1) || !fits(laterStart-64<<20) {
		t.Error("a segment of a killed process does not count as room")
	}
}

// A member refuses writes in this process and over a connection, and accepts them again.
func TestMemberWithoutRoom(t *testing.T) {
	s, err := Start(t.Context(), Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	conn, err := grpc.NewClient(strings.TrimPrefix(s.Endpoints()[0], "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	local, _ := s.Local()
	remote := pb.NewKVClient(conn)
	put := &pb.PutRequest{Key: []byte("a")}
	txn := &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: put}}}}
	for _, free := range []uint64{resume, 0, resume} {
		s.disk.checking.Lock()
		s.disk.free = func(string) (uint64, error) { return free, nil }
		s.disk.checking.Unlock()
		s.disk.check()
		want := codes.OK
		if free == 0 {
			want = codes.ResourceExhausted
		}
		_, inProcess := local.Txn(t.Context(), txn)
		_, connected := remote.Put(t.Context(), put)
		if status.Code(inProcess) != want || status.Code(connected) != want || (len(s.Problems()) == 0) != (free > 0) {
			t.Errorf("%d bytes free: %v, %v, problems %q", free, inProcess, connected, s.Problems())
		}
		for _, kv := range []pb.KVClient{local, remote} {
			if _, err := kv.Range(t.Context(), &pb.RangeRequest{Key: []byte("a")}); err != nil {
				t.Errorf("%d bytes free: a read: %v", free, err)
			}
		}
	}
}
