package eventloop

import (
	"container/heap"
	"time"
)

const unscheduled = -1

// schedule is a heap of clients, ordered by due.
type schedule []*client

// Len, Less and Swap implement heap.Interface.
func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due().Before(s[j].due()) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].heapIndex, s[j].heapIndex = int32(i), int32(j)
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	c := x.(*client)
	c.heapIndex = int32(len(*s))
	*s = append(*s, c)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	c := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	c.heapIndex = unscheduled
	return c
}

// put adds a client, or moves it after its due time has changed.
func (s *schedule) put(c *client) {
	if c.heapIndex == unscheduled {
		heap.Push(s, c)
		return
	}
	heap.Fix(s, int(c.heapIndex))
}

func (s *schedule) remove(c *client) {
	if c.heapIndex != unscheduled {
		heap.Remove(s, int(c.heapIndex))
	}
}

// first returns the first client that is due at now; nil: none is.
func (s schedule) first(now time.Time) *client {
	if len(s) == 0 || s[0].due().After(now) {
		return nil
	}
	return s[0]
}
