package eventloop

import (
	"math"
	"testing"
)

// leftConn is the connection of a client that has left before it joined.
type leftConn struct{ conn }

func (leftConn) join(*eventLoop, *client) bool { return false }

// TestTagsAreUnique checks that a new client gets no tag of another one after the tags have wrapped around. It would get the events of the
// other one's socket.
func TestTagsAreUnique(t *testing.T) {
	l := &eventLoop{clients: make(map[int32]*client)}
	join := func() *client {
		c := &client{loop: l, conn: leftConn{}, heapIndex: unscheduled}
		l.join(c)
		return c
	}
	l.tag = math.MaxInt32 - 1
	living := []*client{join(), join(), join()}
	l.tag = math.MaxInt32 - 1 // as after 2^32 clients
	living = append(living, join())
	for _, c := range living {
		if l.clients[c.tag] != c {
			t.Errorf("a later client has the tag %d", c.tag)
		}
	}
}
