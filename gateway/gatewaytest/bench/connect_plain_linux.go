package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// plainClients are the plain connections of a fleet: one goroutine reads from all of them, into one buffer.
type plainClients struct {
	fleet *fleet
	epoll int

	mu    sync.Mutex // guards the field below
	conns map[int32]*plainClient
}

type plainClient struct {
	watcher  *watcher
	response *response
}

func connectPlain(f *fleet, e endpoint, requests []request) error {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	address, err := net.ResolveTCPAddr("tcp4", e.address)
	if err != nil {
		return err
	}
	to := syscall.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())}
	c := &plainClients{fleet: f, epoll: epoll, conns: make(map[int32]*plainClient, len(requests))}
	f.running.Go(c.read)
	return eachOf(requests, dialers, func(r request) error { return c.connect(to, r) })
}

func (c *plainClients) connect(to syscall.SockaddrInet4, r request) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	c.mu.Lock()
	c.conns[int32(fd)] = &plainClient{watcher: r.watcher, response: r.response()}
	c.mu.Unlock()
	if err := syscall.Connect(fd, &to); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if _, err := syscall.Write(fd, r.text()); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return err
	}
	return syscall.EpollCtl(c.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
}

// read reads until the fleet is closed.
func (c *plainClients) read() {
	defer c.closeAll()
	const wake = 50 // milliseconds between two checks whether the fleet is closed
	ready := make([]syscall.EpollEvent, 1024)
	buffer := make([]byte, 256<<10)
	for c.fleet.ctx.Err() == nil {
		n, err := syscall.EpollWait(c.epoll, ready, wake)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			c.fleet.broke(os.NewSyscallError("epoll_wait", err))
			return
		}
		for _, event := range ready[:max(n, 0)] {
			c.readOne(event.Fd, buffer)
		}
	}
}

func (c *plainClients) readOne(fd int32, buffer []byte) {
	c.mu.Lock()
	client := c.conns[fd]
	c.mu.Unlock()
	n, err := syscall.Read(int(fd), buffer)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return
	case err == nil && n == 0:
		err = errors.New("the server closed it")
	case err == nil:
		err = client.response.feed(buffer[:n])
	}
	if err != nil {
		_ = syscall.EpollCtl(c.epoll, syscall.EPOLL_CTL_DEL, int(fd), nil) // because it would always be ready
		c.fleet.broke(err, client.watcher)
	}
}

func (c *plainClients) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for fd := range c.conns {
		_ = syscall.Close(int(fd))
	}
	_ = syscall.Close(c.epoll)
}
