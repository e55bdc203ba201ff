package abuse

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// usageOf returns the processor time that a gateway has used, and its resident memory in bytes.
func usageOf(t *testing.T, g *gatewaytest.Gateway) (cpu time.Duration, resident int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.PID()))
	if err != nil {
		t.Fatal(err)
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	number := func(i int) int64 {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const tick = 10 * time.Millisecond
	return time.Duration(number(11)+number(12)) * tick, number(21) * int64(os.Getpagesize())
}

// watchMemory returns a function that returns the largest resident memory since the call of watchMemory, in bytes.
func watchMemory(t *testing.T, g *gatewaytest.Gateway) func() int64 {
	t.Helper()
	var most atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				_, resident := usageOf(t, g)
				most.Store(max(most.Load(), resident))
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		return most.Load()
	}
}
