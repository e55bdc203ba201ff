package program

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreeAddress returns an unused address on loopback. Its port is below those that the kernel chooses for outgoing connections.
func FreeAddress() string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.N(20_000))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
}
