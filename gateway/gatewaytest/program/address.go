package program

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports that FreeAddress returns. They are below those that the kernel chooses for port 0 and for outgoing connections.
const (
	firstPort  = 10_000
	blockPorts = 500
	blocks     = 40
)

// own is the block of ports of this process.
var own block

// FreeAddress returns an unused address on loopback. It stays unused until a program listens there, and between two runs of the program: no other
// process that calls FreeAddress gets the same address, and this process gets it again only after 498 others.
func FreeAddress() string { return own.address() }

// block is a range of ports. The process that listens on the first one has the others for its programs.
type block struct {
	mu    sync.Mutex   // guards the fields below
	guard net.Listener // on the first port; nil: the process has no block yet
	first int
	given int // how many addresses were returned
}

func (b *block) address() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.guard == nil {
		b.first = firstPort + blockPorts*rand.N(blocks)
		b.guard, _ = net.Listen("tcp", loopback(b.first)) // an error: another process has this block
	}
	for {
		address := loopback(b.first + 1 + b.given%(blockPorts-1))
		b.given++
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
