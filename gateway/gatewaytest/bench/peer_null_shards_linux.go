package main

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"sync"
	"syscall"
)

// shards are the goroutines that write for the sharded null fan-out. Each owns a part of the sockets.
type shards struct {
	mu   sync.Mutex // guards the field below
	next int
	all  []*shard
}

// shard is a goroutine that writes to its sockets as much as they accept, and waits for the log to grow and for full sockets.
type shard struct {
	log     *eventLog
	epoll   int
	bell    int // an eventfd: written when the log has grown
	mu      sync.Mutex
	clients map[int32]*shardClient // guarded by mu
}

type shardClient struct {
	fd   int32
	full bool // the socket accepts no more bytes at present
	at   cursor
}

func newShards(log *eventLog) (*shards, error) {
	s := new(shards)
	for range runtime.GOMAXPROCS(0) {
		sh := &shard{log: log, clients: map[int32]*shardClient{}}
		var err error
		if sh.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
			return nil, err
		}
		bell, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
		if errno != 0 {
			return nil, errno
		}
		sh.bell = int(bell)
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(bell)}
		if err := syscall.EpollCtl(sh.epoll, syscall.EPOLL_CTL_ADD, sh.bell, &event); err != nil {
			return nil, err
		}
		s.all = append(s.all, sh)
		go sh.run()
	}
	return s, nil
}

// wake wakes every shard.
func (s *shards) wake() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	for _, sh := range s.all {
		_, _ = syscall.Write(sh.bell, one) // a full eventfd wakes it too
	}
}

// add gives a connection to one of the shards, which uses only its socket.
func (s *shards) add(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	s.mu.Lock()
	sh := s.all[s.next%len(s.all)]
	s.next++
	s.mu.Unlock()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
		if errno == 0 {
			sh.add(int32(own))
		}
	})
}

func (s *shard) add(fd int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	client := &shardClient{fd: fd}
	client.at, _ = s.log.head()
	s.clients[fd] = client
	const edges = 1 << 31 // EPOLLET
	event := syscall.EpollEvent{Events: syscall.EPOLLOUT | syscall.EPOLLRDHUP | edges, Fd: fd}
	if _, err := syscall.Write(int(fd), []byte(nullHead)); err != nil || syscall.EpollCtl(s.epoll, syscall.EPOLL_CTL_ADD, int(fd), &event) != nil {
		s.dropLocked(client)
	}
}

func (s *shard) dropLocked(c *shardClient) {
	delete(s.clients, c.fd)
	_ = syscall.Close(int(c.fd))
}

func (s *shard) run() {
	ready := make([]syscall.EpollEvent, 256)
	for {
		n, err := syscall.EpollWait(s.epoll, ready, -1)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
		s.mu.Lock()
		rung := false
		for _, event := range ready[:max(n, 0)] {
			if event.Fd == int32(s.bell) {
				var count [8]byte
				_, _ = syscall.Read(s.bell, count[:]) // resets it
				rung = true
			} else if client := s.clients[event.Fd]; client != nil {
				client.full = false
				if event.Events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
					s.dropLocked(client)
				} else {
					s.writeLocked(client)
				}
			}
		}
		if rung {
			for _, client := range s.clients {
				s.writeLocked(client)
			}
		}
		s.mu.Unlock()
	}
}

// writeLocked writes the pending bytes, as far as the socket accepts them.
func (s *shard) writeLocked(c *shardClient) {
	for pending := c.at.pending(); len(pending) > 0 && !c.full; pending = c.at.pending() {
		n, err := syscall.Write(int(c.fd), pending)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			c.full = true
		case err != nil:
			s.dropLocked(c)
			return
		default:
			c.at.offset += n
		}
	}
}
