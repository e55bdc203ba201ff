package socket

import (
	"os"
	"testing"
	"time"
)

// TestSlowAnswerIsNotCut checks that a client that accepts some bytes in time gets more time.
func TestSlowAnswerIsNotCut(t *testing.T) {
	c := &trickle{size: 95}
	n, err := WriteAll(c, time.Second, c.write)
	if n != 95 || err != nil || c.deadlines != 10 {
		t.Errorf("%d bytes with %d deadlines: %v", n, c.deadlines, err)
	}
}

// trickle accepts only a few bytes of each write before its deadline.
type trickle struct{ size, taken, deadlines int }

func (c *trickle) SetWriteDeadline(time.Time) error {
	c.deadlines++
	return nil
}

func (c *trickle) write() (int64, error) {
	n := min(10, c.size-c.taken)
	if c.taken += n; c.taken < c.size {
		return int64(n), os.ErrDeadlineExceeded
	}
	return int64(n), nil
}
